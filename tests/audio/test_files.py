import io
import wave

import numpy as np
import pytest
import soundfile

from antiphon.audio.files import FORMATS, AudioFormatError, encode
from antiphon.audio.wavfile import MAX_DATA_SIZE, wav_header

RATE = 24_000


def tone(seconds: float, rate: int = RATE) -> bytes:
    count = round(seconds * rate)
    return np.round(8000 * np.sin(2 * np.pi * 440 / rate * np.arange(count))).astype("<i2").tobytes()


def frequency(samples: np.ndarray[tuple[int], np.dtype[np.float64]], rate: int) -> float:
    window = samples[len(samples) // 4 : len(samples) * 3 // 4]
    spectrum = np.abs(np.fft.rfft(window * np.hanning(len(window)), 1 << 18))
    return float(np.argmax(spectrum)) * rate / (1 << 18)


@pytest.mark.parametrize("rate", [8000, 24_000, 48_000])
@pytest.mark.parametrize("file_format", ["wav", "flac", "mp3", "opus"])
def test_a_tone_comes_back_with_its_pitch_and_length(file_format: str, rate: int) -> None:
    samples, decoded_rate = soundfile.read(io.BytesIO(encode(tone(1.5, rate), rate, file_format)))
    assert frequency(samples, decoded_rate) == pytest.approx(440, abs=1)
    # MPEG audio comes in frames of up to 72 ms at 8 kHz, and libsndfile keeps the encoder's delay.
    assert len(samples) / decoded_rate == pytest.approx(1.5, abs=0.16 if file_format == "mp3" else 1e-3)


@pytest.mark.parametrize("file_format", ["wav", "flac"])
def test_lossless_formats_keep_every_sample(file_format: str) -> None:
    pcm = tone(0.5)
    samples, _ = soundfile.read(io.BytesIO(encode(pcm, RATE, file_format)), dtype="int16")
    assert samples.astype("<i2").tobytes() == pcm


def test_pcm_is_what_came_in() -> None:
    assert encode(tone(0.1), 12_345, "pcm") == tone(0.1)


@pytest.mark.parametrize("file_format", ["flac", "mp3", "opus"])
def test_the_tail_of_a_long_file_is_there(file_format: str) -> None:
    silence = bytes(2 * RATE * 180)
    samples, rate = soundfile.read(io.BytesIO(encode(silence + tone(1.0), RATE, file_format)))
    assert frequency(samples[-rate:], rate) == pytest.approx(440, abs=1)


@pytest.mark.parametrize("file_format", [name for name in FORMATS if name != "pcm"])
def test_no_audio_is_a_file_that_can_be_read(file_format: str) -> None:
    samples, rate = soundfile.read(io.BytesIO(encode(b"", RATE, file_format)))
    assert rate == RATE
    assert np.abs(samples).max(initial=0.0) < 1e-6
    assert len(samples) < 0.1 * RATE


def test_no_audio_is_no_pcm() -> None:
    assert encode(b"", RATE, "pcm") == b""


@pytest.mark.parametrize("file_format", ["mp3", "opus"])
def test_a_rate_it_cannot_hold_is_refused_with_those_it_can(file_format: str) -> None:
    with pytest.raises(AudioFormatError, match=r"cannot hold 23000 .*8000.*48000; resample, or choose wav or flac"):
        encode(tone(0.1), 23_000, file_format)


def test_an_unknown_format_is_answered_with_those_there_are() -> None:
    with pytest.raises(AudioFormatError, match="'aac'; choose one of wav, pcm, flac, mp3, opus"):
        encode(b"", RATE, "aac")


def test_media_types() -> None:
    assert {name: known.media_type for name, known in FORMATS.items()} == {
        "wav": "audio/wav",
        "pcm": "audio/pcm",
        "flac": "audio/flac",
        "mp3": "audio/mpeg",
        "opus": "audio/ogg",
    }


def test_a_wav_header_is_what_the_standard_library_reads() -> None:
    pcm = tone(0.25)
    with wave.open(io.BytesIO(wav_header(RATE, len(pcm)) + pcm)) as file:
        assert (file.getframerate(), file.getnchannels(), file.getsampwidth()) == (RATE, 1, 2)
        assert file.readframes(RATE) == pcm


def test_a_header_of_unknown_length_has_both_sizes_full() -> None:
    header = wav_header(RATE)
    assert len(header) == 44
    assert header[4:8] == header[40:44] == b"\xff\xff\xff\xff"


def test_more_than_a_wav_file_holds_is_refused() -> None:
    assert len(wav_header(RATE, MAX_DATA_SIZE)) == 44
    with pytest.raises(ValueError, match="at most"):
        wav_header(RATE, MAX_DATA_SIZE + 1)
