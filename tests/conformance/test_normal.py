"""What the comparison ignores, and what it must not ignore."""

import io

import numpy as np
import soundfile
from tests.conformance.normal import CUT_OFF, normalise
from tests.conformance.player import Ended, Event, Frame, Transcript

from antiphon.engines.tone import SAMPLE_RATE, tone_pcm

_TEXT = "Heard."


def _start(file_format: str, *, streamed: bool = False) -> Event:
    rate = ',"sample_rate":24000' if streamed else ""
    return Event(
        f'{{"type":"audio.start","utterance_index":0,"sentence_index":0,"sentence_text":"{_TEXT}",'
        f'"format":"{file_format}"{rate}}}'
    )


def _done(size: int) -> Event:
    return Event(f'{{"type":"audio.done","utterance_index":0,"sentence_index":0,"total_bytes":{size},"error":false}}')


def _streamed(*frames: bytes) -> Transcript:
    return [_start("pcm", streamed=True), *map(Frame, frames), _done(8), Ended("alive")]


def _file(file_format: str, container: str, subtype: str, pcm: bytes) -> Transcript:
    buffer = io.BytesIO()
    samples = np.frombuffer(pcm, dtype="<i2")
    soundfile.write(buffer, samples, SAMPLE_RATE, format=container, subtype=subtype)
    data = buffer.getvalue()
    return [_start(file_format), Frame(data), _done(len(data))]


def test_how_a_stream_is_cut_does_not_matter() -> None:
    assert normalise(_streamed(b"abcdefgh")) == normalise(_streamed(b"ab", b"", b"cdefgh", b""))


def test_every_byte_of_a_stream_matters() -> None:
    assert normalise(_streamed(b"abcdefgh")) != normalise(_streamed(b"abcdefgx"))


def test_an_event_between_frames_matters() -> None:
    whole = [*_streamed(b"abcdefgh")]
    assert normalise(whole) != normalise([*whole[:2], Event('{"type":"error","message":"x"}'), *whole[2:]])


def test_a_file_in_two_frames_differs_from_one_in_one() -> None:
    whole = _file("wav", "WAV", "PCM_16", tone_pcm(_TEXT))
    data = b"".join(entry.data for entry in whole if isinstance(entry, Frame))
    assert normalise(whole) != normalise([whole[0], Frame(data[:99]), Frame(data[99:]), whole[2]])


def test_every_sample_of_a_lossless_file_matters() -> None:
    pcm = tone_pcm(_TEXT)
    louder = pcm[:1000] + b"\x01\x00" + pcm[1002:]
    assert normalise(_file("flac", "FLAC", "PCM_16", pcm)) != normalise(_file("flac", "FLAC", "PCM_16", louder))


def test_a_lossy_file_must_sound_like_the_tone_whatever_its_size() -> None:
    lines = normalise(_file("opus", "OGG", "OPUS", tone_pcm(_TEXT)))
    assert lines[1].endswith("the tone")
    assert "SIZE" in lines[2]


def test_a_lossy_file_must_have_the_size_that_is_said() -> None:
    start, frame, _ = _file("opus", "OGG", "OPUS", tone_pcm(_TEXT))
    assert "SIZE" not in normalise([start, frame, _done(7)])[2]


def test_a_lossy_file_with_another_sound_is_found() -> None:
    silence = bytes(len(tone_pcm(_TEXT)))
    assert normalise(_file("opus", "OGG", "OPUS", silence))[1].endswith("not the tone")


def test_a_lossy_file_of_another_length_is_found() -> None:
    assert normalise(_file("mp3", "MP3", "MPEG_LAYER_III", tone_pcm("Longer text.")))[1].endswith("than the tone")


def test_how_much_arrived_before_the_client_left_does_not_matter() -> None:
    lines = [normalise([_start("pcm", streamed=True), Frame(data), Ended("client", 1000)]) for data in (b"ab", b"abcd")]
    assert lines[0] == lines[1]
    assert CUT_OFF in lines[0]
