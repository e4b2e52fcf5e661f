"""Whole audio files in memory: what a response that is not streamed contains."""

import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import soundfile

from antiphon.audio.pcm import BYTES_PER_SAMPLE
from antiphon.audio.wavfile import wav_header


class AudioFormatError(ValueError):
    """No such format, or it cannot hold this sample rate; the message says what can be done."""


@dataclass(frozen=True, slots=True)
class FileFormat:
    """A format that `encode` writes.

    Attributes:
        media_type: for HTTP's Content-Type.
        sample_rates: those it can hold; empty for any.
    """

    media_type: str
    sample_rates: tuple[int, ...] = ()


_MPEG_RATES = (8000, 11025, 12000, 16000, 22050, 24000, 32000, 44100, 48000)
_OPUS_RATES = (8000, 12000, 16000, 24000, 48000)

FORMATS: Mapping[str, FileFormat] = MappingProxyType(
    {
        "wav": FileFormat("audio/wav"),
        "pcm": FileFormat("audio/pcm"),
        "flac": FileFormat("audio/flac"),
        "mp3": FileFormat("audio/mpeg", _MPEG_RATES),
        "opus": FileFormat("audio/ogg", _OPUS_RATES),
    }
)


def encode(pcm: bytes, sample_rate: int, file_format: str) -> bytes:
    """Return `pcm` as a whole file that can be read, also when it is empty.

    Args:
        pcm: s16le mono samples.
        sample_rate: samples per second.
        file_format: a key of `FORMATS`; ``opus`` is in an Ogg container, ``pcm`` is what came in.

    Raises:
        AudioFormatError: no such format, or not at this sample rate.
    """
    known = FORMATS.get(file_format)
    if known is None:
        raise AudioFormatError(f"unknown audio format {file_format!r}; choose one of {', '.join(FORMATS)}")
    if known.sample_rates and sample_rate not in known.sample_rates:
        rates = ", ".join(map(str, known.sample_rates))
        raise AudioFormatError(
            f"{file_format} cannot hold {sample_rate} samples per second, only {rates}; resample, or choose wav or flac"
        )
    return _ENCODERS[file_format](pcm, sample_rate)


def _wav(pcm: bytes, sample_rate: int) -> bytes:
    return wav_header(sample_rate, len(pcm)) + pcm


def _sndfile(container: str, subtype: str) -> Callable[[bytes, int], bytes]:
    def write(pcm: bytes, sample_rate: int) -> bytes:
        # Of no samples libsndfile makes no file at all, in flac and mp3: one of silence is a file that can be read.
        samples = np.frombuffer(pcm or bytes(BYTES_PER_SAMPLE), dtype="<i2")
        buffer = io.BytesIO()
        soundfile.write(buffer, samples, sample_rate, format=container, subtype=subtype)
        return buffer.getvalue()

    return write


_ENCODERS: dict[str, Callable[[bytes, int], bytes]] = {
    "wav": _wav,
    "pcm": lambda pcm, _rate: pcm,
    "flac": _sndfile("FLAC", "PCM_16"),
    "mp3": _sndfile("MP3", "MPEG_LAYER_III"),
    "opus": _sndfile("OGG", "OPUS"),
}
