"""hibari's signal processing, frame by frame: spectra go in as they are computed, finished samples come out.

The same mathematics as `hibari.dsp.synth` (pulse train from F0, filtered by the harmonic branch, plus shaped noise,
plus a free-phase branch, one inverse STFT), but with its running state kept between calls, and with the noise drawn
frame by frame, so that neither depends on how the frames were grouped.
"""

import numpy as np
from hibari.dsp import HOP, N_FFT, SR, WIN, WIN_SRC, ex, irfft, rfft
from numpy.typing import NDArray

from antiphon.engines.hibari.noise import FrameNoise

SAMPLE_RATE: int = SR
FRAME_SAMPLES: int = HOP
BINS = N_FFT // 2 + 1
LOOKAHEAD = 2  # a frame's samples are complete when this many further frames are in

_OVERLAP = N_FFT // HOP
_HALF = N_FFT // 2
_VOICED_HZ = 40.0
_TOP_HZ = 11_000.0
_WEIGHTS: "Floats" = (WIN * WIN).reshape(_OVERLAP, HOP)
_LATER = (((np.arange(HOP) + 0.5) / HOP - 0.5) % 1.0).astype(np.float32)
_EARLIER = np.float32(1.0) - _LATER

type Floats = NDArray[np.float32]
type Spectra = tuple[Floats, Floats, Floats, Floats, Floats]


class FrameSynthesizer:
    """Turns the spectra of one sentence into samples.

    Args:
        f0: fundamental frequency of every frame in Hz, 0 where unvoiced; shape [F], F at least 3.
        noise: source of the aspiration noise.
    """

    def __init__(self, f0: Floats, noise: FrameNoise) -> None:
        self._frames = len(f0)
        self._noise = noise
        self._pulses = _PulseFrames(f0)
        self._done = 0
        self._overlap = np.zeros((_OVERLAP - 1, HOP), np.float32)

    def push(self, spectra: Spectra) -> Floats:
        """Add the next n frames and return the samples they complete.

        Args:
            spectra: ``lh``, ``theta``, ``ln``, ``lr``, ``phi``, each of shape [601, n].

        Returns:
            Samples, shape [300 * m]: of every frame that has its two successors, or of all after the last one.
        """
        count = spectra[0].shape[1]
        first, self._done = self._done, self._done + count
        frames = irfft(self._spectrum(spectra, count).T, N_FFT, 1)
        frames *= WIN
        blocks = self._add(frames.reshape(count, _OVERLAP, HOP), first)
        return blocks.reshape(-1)

    def _spectrum(self, spectra: Spectra, count: int) -> NDArray[np.complex64]:
        harmonic, theta, noise, free, phase = spectra
        spectrum = np.ascontiguousarray(rfft(self._pulses.take(count), 1).T)
        spectrum *= _polar(harmonic, np.tanh(theta) * np.float32(np.pi))
        random = self._noise.take(count)
        random *= ex(noise)
        spectrum += random
        spectrum += _polar(free, phase)
        return spectrum

    def _add(self, frames: Floats, first: int) -> Floats:
        """Overlap-add frames of shape [n, 4, 300]; return the blocks of 300 samples that are complete."""
        count = len(frames)
        blocks = np.zeros((count + _OVERLAP - 1, HOP), np.float32)
        blocks[: _OVERLAP - 1] = self._overlap
        for k in range(_OVERLAP):
            blocks[k : k + count] += frames[:, k]
        self._overlap = blocks[count:].copy()
        # Block j of the padded signal is frame j - 2 of the output: the STFT is centred on its frames.
        start = max(first, LOOKAHEAD)
        stop = self._done + (LOOKAHEAD if self._done == self._frames else 0)
        return blocks[start - first : stop - first] * _gains(start, stop, self._frames)


def _polar(log_magnitude: Floats, angle: Floats) -> NDArray[np.complex64]:
    out = np.empty(log_magnitude.shape, np.complex64)
    np.cos(angle, out=out.real)
    np.sin(angle, out=out.imag)
    out *= ex(log_magnitude)
    return out


def _gains(start: int, stop: int, frames: int) -> Floats:
    """One over the summed squared windows of padded blocks `start` to `stop`; shape [stop - start, 300]."""
    index = np.arange(start, stop)[:, None] - np.arange(_OVERLAP)
    present = ((index >= 0) & (index < frames)).astype(np.float32)
    gains: Floats = 1.0 / np.maximum(present @ _WEIGHTS, np.float32(1e-11))
    return gains


class _PulseFrames:
    """The pulse train cut into the overlapping, windowed frames of its STFT (centred, reflected at both ends)."""

    def __init__(self, f0: Floats) -> None:
        self._f0 = np.pad(f0, 1, mode="edge")
        self._blocks = len(f0)
        self._made = 0
        self._phase = 0.0
        self._buffer = np.zeros(0, np.float32)

    def take(self, count: int) -> Floats:
        """Return the next `count` frames; shape [count, 1200]."""
        needed = (count - 1) * HOP + N_FFT
        self._extend(needed)
        frames: Floats = np.lib.stride_tricks.sliding_window_view(self._buffer[:needed], N_FFT)[::HOP] * WIN_SRC
        self._buffer = self._buffer[count * HOP :]
        return frames

    def _extend(self, needed: int) -> None:
        missing = max(0, -(-(needed - len(self._buffer)) // HOP))
        if not self._made:
            missing = max(missing - LOOKAHEAD, LOOKAHEAD + 1)  # the reflection needs a sample more than its length
        stop = min(self._made + missing, self._blocks)
        parts = [self._buffer, self._pulses(self._made, stop)]
        if not self._made:
            parts[0] = parts[1][1 : _HALF + 1][::-1]
        self._made = stop
        self._buffer = np.concatenate(parts)
        if len(self._buffer) < needed:
            self._buffer = np.concatenate([self._buffer, self._buffer[-_HALF - 1 : -1][::-1]])

    def _pulses(self, start: int, stop: int) -> Floats:
        """Band-limited pulses of unit amplitude for frames `start` to `stop`; unvoiced samples are 0.

        The sum of the cosines of all harmonics below 11 kHz, in closed form: ``sin((H + 1/2) t) / (2 sin(t / 2)) - 1/2``.
        """
        if start == stop:
            return np.zeros(0, np.float32)
        hz = self._interpolated(start, stop)
        voiced = hz > _VOICED_HZ
        np.maximum(hz, _VOICED_HZ, out=hz)
        angle = self._angles(hz)
        order = np.floor(np.float32(_TOP_HZ) / hz) + np.float32(0.5)
        divisor = np.sin(angle * np.float32(0.5)) * np.float32(2)
        singular = np.abs(divisor) <= 2e-3
        divisor[singular] = 1
        pulses = np.sin(order * angle)
        pulses /= divisor
        pulses[singular] = order[singular]
        pulses -= np.float32(0.5)
        pulses[~voiced] = 0
        return pulses

    def _interpolated(self, start: int, stop: int) -> Floats:
        """F0 per sample, linear between the centres of the frames."""
        f0 = self._f0[start : stop + 2, None]
        half = HOP // 2
        hz = np.empty((stop - start, HOP), np.float32)
        hz[:, :half] = f0[:-2] * _EARLIER[:half] + f0[1:-1] * _LATER[:half]
        hz[:, half:] = f0[1:-1] * _EARLIER[half:] + f0[2:] * _LATER[half:]
        return hz.reshape(-1)

    def _angles(self, hz: Floats) -> Floats:
        """Running phase in [0, 2 pi), summed in double precision across calls."""
        turns = np.empty(len(hz) + 1, np.float64)
        turns[0] = self._phase
        turns[1:] = hz
        np.cumsum(turns, out=turns)
        self._phase = float(turns[-1])
        angle = np.modf(turns[1:] / SR)[0] * (2 * np.pi)
        return np.asarray(angle, np.float32)
