"""The samples are the same however the file arrives, and what is no such file is told."""

import itertools
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.audio.wavfile import wav_header
from antiphon.client.wav_stream import MAX_HEADER_BYTES, WavError, WavStream

RATE = 16_000
SAMPLES = bytes(range(200))


def chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack("<4sI", name, len(content)) + content + b"\0" * (len(content) % 2)


def read(*parts: bytes) -> bytes:
    stream = WavStream()
    samples = b"".join(map(stream.feed, parts))
    stream.finish()
    assert stream.sample_rate == RATE
    return samples


@given(cuts=st.lists(st.integers(0, 44 + len(SAMPLES))), known=st.booleans())
def test_it_may_be_cut_anywhere(cuts: list[int], known: bool) -> None:
    file = wav_header(RATE, len(SAMPLES) if known else None) + SAMPLES
    edges = [0, *sorted(cuts), len(file)]

    assert read(*(file[start:end] for start, end in itertools.pairwise(edges))) == SAMPLES


def test_one_byte_at_a_time_gives_whole_samples_only() -> None:
    stream = WavStream()

    parts = [stream.feed(bytes([byte])) for byte in wav_header(RATE) + SAMPLES]

    assert {len(part) for part in parts} == {0, 2}
    assert b"".join(parts) == SAMPLES


def test_other_chunks_around_the_samples_are_no_sound() -> None:
    header = wav_header(RATE, len(SAMPLES))
    odd = chunk(b"LIST", b"odd")

    assert read(header[:12], odd, header[12:36], odd, header[36:], SAMPLES, odd) == SAMPLES


def test_a_size_of_zero_is_a_stream_whose_end_is_not_known() -> None:
    assert read(wav_header(RATE, 0), SAMPLES) == SAMPLES


@pytest.mark.parametrize(
    ("file", "message"),
    [
        (b"", "no audio came"),
        (wav_header(RATE)[:40], "within its header"),
        (wav_header(RATE) + b"\1", "too early"),
        (wav_header(RATE, 4) + b"\1\1", "too early"),
        (b'{"error": "no"}', "something else than WAV"),
        (b"ID3\4" + bytes(100), "something else than WAV"),
        (wav_header(RATE)[:12] + wav_header(RATE)[36:] + SAMPLES, "does not say the sample rate"),
        (wav_header(0) + SAMPLES, "does not say the sample rate"),
        (wav_header(RATE)[:12] + chunk(b"LIST", bytes(MAX_HEADER_BYTES)), "has no beginning"),
        (wav_header(RATE)[:20] + struct.pack("<HH", 1, 2) + wav_header(RATE)[24:], "2 channels"),
        (wav_header(RATE)[:34] + struct.pack("<H", 8) + wav_header(RATE)[36:], "8 bits"),
        (wav_header(RATE)[:20] + struct.pack("<H", 3) + wav_header(RATE)[22:], "format 3"),
    ],
)
def test_what_is_no_such_file_is_told(file: bytes, message: str) -> None:
    with pytest.raises(WavError, match=message):
        read(file)


@given(file=st.binary(max_size=200), prefix=st.sampled_from([b"", wav_header(RATE)[:12], wav_header(RATE)[:38]]))
def test_nothing_but_its_own_error_is_raised(file: bytes, prefix: bytes) -> None:
    stream = WavStream()
    try:
        for byte in prefix + file:
            stream.feed(bytes([byte]))
        stream.finish()
    except WavError:
        pass
    assert len(stream._header) <= MAX_HEADER_BYTES + 1
