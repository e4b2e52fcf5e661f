"""The 44 bytes before the samples of a WAV file (RIFF, PCM, 16 bit, mono)."""

import struct

from antiphon.audio.pcm import BYTES_PER_SAMPLE

HEADER_SIZE = 44
UNKNOWN_SIZE = 0xFFFFFFFF
MAX_DATA_SIZE = UNKNOWN_SIZE - HEADER_SIZE

_PCM = 1
_MONO = 1


def wav_header(sample_rate: int, data_size: int | None = None) -> bytes:
    """Return the header of a WAV file.

    Args:
        sample_rate: samples per second.
        data_size: bytes of samples that follow; None for a stream whose end is not known, for which both sizes are
            0xFFFFFFFF, as OpenAI's and vLLM-Omni's streams have them and players accept.

    Raises:
        ValueError: more than a WAV file can hold (4 GiB).
    """
    if data_size is not None and data_size > MAX_DATA_SIZE:
        raise ValueError(f"a WAV file holds at most {MAX_DATA_SIZE} bytes of samples, not {data_size}")
    riff_size, data_size = (UNKNOWN_SIZE,) * 2 if data_size is None else (data_size + HEADER_SIZE - 8, data_size)
    byte_rate = sample_rate * BYTES_PER_SAMPLE
    sizes = (16, _PCM, _MONO, sample_rate, byte_rate, BYTES_PER_SAMPLE, 8 * BYTES_PER_SAMPLE)
    return struct.pack("<4sI4s4sIHHIIHH4sI", b"RIFF", riff_size, b"WAVE", b"fmt ", *sizes, b"data", data_size)
