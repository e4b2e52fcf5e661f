"""PCM as it travels: little-endian signed 16-bit, mono."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

BYTES_PER_SAMPLE = 2
FULL_SCALE = 32767


@dataclass(frozen=True, slots=True)
class PcmChunk:
    """A piece of audio.

    Attributes:
        data: s16le mono samples, a whole number of them; may be empty.
        sample_rate: samples per second.
    """

    data: bytes
    sample_rate: int

    @property
    def samples(self) -> int:
        """Number of samples."""
        return len(self.data) // BYTES_PER_SAMPLE

    @property
    def duration_s(self) -> float:
        """Playing time in seconds."""
        return self.samples / self.sample_rate


def from_float(samples: NDArray[np.float32]) -> bytes:
    """Convert float samples (shape [n], full scale ±1, clipped beyond it) to s16le bytes."""
    return (np.clip(samples, -1.0, 1.0) * FULL_SCALE).astype("<i2").tobytes()


def to_float(data: bytes) -> NDArray[np.float32]:
    """Convert s16le bytes to float32 samples of shape [n] within ±1."""
    return np.frombuffer(data, dtype="<i2").astype(np.float32) / 32768.0
