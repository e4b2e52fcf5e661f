"""The breath in hibari's voice: complex Gaussian noise, one spectrum per frame.

Drawing it anew costs a third of all signal processing, so each frame takes a random stretch of one long table. The
stretches of a frame's neighbours start elsewhere, hence the spectra are independent for the ear.
"""

import functools

import numpy as np
from numpy.typing import NDArray

_STARTS = 1 << 19


@functools.cache
def _table(bins: int) -> NDArray[np.complex64]:
    values = np.random.default_rng(0).standard_normal(2 * (_STARTS + bins), dtype=np.float32)
    return values.view(np.complex64)


class FrameNoise:
    """A sequence of noise spectra that depends on nothing but its seed.

    Args:
        seed: any integer.
        bins: values per spectrum; real and imaginary parts have unit variance each.
    """

    def __init__(self, seed: int, bins: int) -> None:
        self._starts = np.random.default_rng(seed % (1 << 64))  # numpy takes none below 0
        self._table = _table(bins)
        self._bins = np.arange(bins)[:, None]

    def take(self, count: int) -> NDArray[np.complex64]:
        """Return the next `count` spectra; shape [bins, count]."""
        stretches = self._bins + self._starts.integers(_STARTS, size=count)
        return np.take(self._table, stretches)
