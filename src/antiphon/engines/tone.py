"""An engine that hums: exact, instant, deterministic. For tests, benchmarks and development without weights.

It poses as Qwen3-TTS CustomVoice, down to the wording of its refusals. Every sample it sends is known beforehand:
`tone_pcm` gives any stretch of any unit, so that whoever receives audio can check each byte.
"""

import functools
import math
import time
import zlib
from collections.abc import Iterator
from types import MappingProxyType
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from antiphon.audio.pcm import BYTES_PER_SAMPLE, PcmChunk
from antiphon.engines import qwen3
from antiphon.engines.contract import EngineInfo, InvalidRequestError, SpeechUnit, Synthesis, Voice

SAMPLE_RATE = qwen3.SAMPLE_RATE
SAMPLES_PER_CHARACTER = 1440  # 60 ms, about the pace of read English
FADE_SAMPLES = 120  # 5 ms at each end of a unit, so that it neither starts nor stops with a click

# A loop of a prime number of samples: a chunk at any other place in the unit has other bytes, so a lost, doubled or
# swapped chunk shows. A whole number of cycles fits into it, so the loop itself has no seam.
_LOOP_SAMPLES = 24_001
_CYCLES = (196, 220, 247, 294, 330, 392, 440, 494, 587, 659)  # a pentatonic scale, in Hz within 0.01 %
_AMPLITUDES = (6000, 1800, 600)  # the fundamental and two harmonics
_MAX_CHUNK_MS = 2000


def tone_length(text: str, speed: float = 1.0, max_new_tokens: int | None = None) -> int:
    """Return how many samples the unit `text` has.

    Args:
        text: the unit's text; each code point sounds for `SAMPLES_PER_CHARACTER` at speed 1.
        speed: divides the length.
        max_new_tokens: caps it, at 80 ms each, as it caps the model; None for the model's default of 2048.
    """
    tokens = qwen3.DEFAULT_NEW_TOKENS if max_new_tokens is None else max_new_tokens
    cap = tokens * qwen3.FRAME_MS * SAMPLE_RATE // 1000
    # Cut, not rounded: as vLLM-Omni's stretched audio is.
    return min(cap, int(len(text) * SAMPLES_PER_CHARACTER / speed))


def tone_pcm(
    text: str, start: int = 0, stop: int | None = None, *, speed: float = 1.0, max_new_tokens: int | None = None
) -> bytes:
    """Return samples `start` to `stop` (exclusive) of the unit `text` as s16le bytes.

    Args:
        text: the unit's text, which also chooses the pitch.
        start: first sample, from 0.
        stop: the sample after the last one; None for the end of the unit.
        speed: as the unit's.
        max_new_tokens: as the unit's.
    """
    length = tone_length(text, speed, max_new_tokens)
    stop = length if stop is None else min(stop, length)
    samples = _loop(_pitch(text))[np.arange(start, stop) % _LOOP_SAMPLES]
    _fade(samples, start, length)
    return samples.tobytes()


def _pitch(text: str) -> int:
    digest = zlib.crc32(text.encode("utf-8", "surrogatepass"))
    return _CYCLES[digest % len(_CYCLES)]


@functools.cache
def _loop(cycles: int) -> NDArray[np.int16]:
    """One loop of the tone with `cycles` periods; shape [_LOOP_SAMPLES]."""
    phase = np.arange(_LOOP_SAMPLES) * (2 * math.pi * cycles / _LOOP_SAMPLES)
    partials = [amplitude * np.sin(phase * n) for n, amplitude in enumerate(_AMPLITUDES, start=1)]
    return np.round(np.sum(partials, axis=0)).astype("<i2")


@functools.cache
def _tape(cycles: int) -> bytes:
    """The loop and the longest chunk's worth of its beginning, as s16le: any chunk is one slice of it."""
    loop = _loop(cycles)
    repeats = math.ceil(_MAX_CHUNK_MS * SAMPLE_RATE / 1000 / _LOOP_SAMPLES)
    return np.concatenate([loop] * (repeats + 1)).tobytes()


@functools.lru_cache(maxsize=FADE_SAMPLES + 1)
def _gain(fade: int) -> NDArray[np.float64]:
    """Half a raised cosine from 0; shape [fade]."""
    return 0.5 - 0.5 * np.cos(math.pi * np.arange(fade) / max(fade, 1))


def _fade(samples: NDArray[np.int16], start: int, length: int) -> None:
    """Fade in place what of `samples`, which begin at `start`, lies near an end of the unit."""
    fade = min(FADE_SAMPLES, length // 2)
    gain = _gain(fade)
    head = samples[: max(0, fade - start)]
    head[:] = np.round(head * gain[start : start + len(head)])
    tail = samples[max(0, length - fade - start) :]
    to_end = length - start - len(samples)
    tail[:] = np.round(tail * gain[to_end : to_end + len(tail)][::-1])


class ToneEngine:
    """The tone, as a step engine.

    Args:
        chunk_ms: audio per step, 1 to 2000 ms.
        step_delay_ms: time each step sleeps first, to act as a slower engine.
        dialect: whose checks to pose with, vLLM-Omni ``0.30`` or ``0.26``.
    """

    def __init__(self, chunk_ms: int = 80, step_delay_ms: float = 0.0, dialect: qwen3.Release = "0.30") -> None:
        if not 1 <= chunk_ms <= _MAX_CHUNK_MS:
            raise ValueError(f"chunk_ms must be from 1 to {_MAX_CHUNK_MS}, not {chunk_ms}")
        if step_delay_ms < 0:
            raise ValueError(f"step_delay_ms cannot be negative: {step_delay_ms}")
        if dialect not in get_args(qwen3.Release.__value__):
            raise ValueError(f"dialect must be 0.30 or 0.26, not {dialect!r}")
        self._chunk_samples = chunk_ms * SAMPLE_RATE // 1000
        self._delay_s = step_delay_ms / 1000
        self._dialect = dialect
        step_ms = 0.01 + step_delay_ms
        self.info = EngineInfo(
            name="tone",
            model=qwen3.MODEL,
            sample_rate=SAMPLE_RATE,
            voices=tuple(Voice(name, qwen3.LANGUAGES, f"A tone that poses as {name}") for name in qwen3.VOICES),
            languages=qwen3.LANGUAGES,
            aliases=MappingProxyType({}),
            deterministic=True,
            step_ms=step_ms,
            rtf=step_ms / chunk_ms,
        )

    def load(self) -> None:
        """Compute the tables (a few milliseconds)."""
        for cycles in _CYCLES:
            _tape(cycles)

    def check(self, unit: SpeechUnit) -> None:
        """Refuse what Qwen3-TTS CustomVoice refuses.

        Raises:
            InvalidRequestError: with vLLM-Omni's message.
        """
        if message := qwen3.refusal(unit, self._dialect):
            raise InvalidRequestError(message)

    def synthesize(self, unit: SpeechUnit) -> Synthesis:
        """Begin to hum `unit`.

        Raises:
            InvalidRequestError: as `check`.
        """
        self.check(unit)
        length = tone_length(unit.text, unit.speed, unit.max_new_tokens)
        return _ToneSynthesis(unit.text, length, self._chunk_samples, self._delay_s)


class _ToneSynthesis:
    def __init__(self, text: str, length: int, chunk_samples: int, delay_s: float) -> None:
        self._tape = _tape(_pitch(text))
        self._length = length
        self._chunk_samples = chunk_samples
        self._delay_s = delay_s
        self._position = 0
        self._closed = False

    @property
    def exhausted(self) -> bool:
        return self._position >= self._length

    def __iter__(self) -> Iterator[PcmChunk]:
        return self

    def __next__(self) -> PcmChunk:
        if self._delay_s and not self.exhausted:
            time.sleep(self._delay_s)
        start = self._position
        if self._closed or start >= self._length:
            raise StopIteration
        stop = self._position = min(start + self._chunk_samples, self._length)
        return PcmChunk(self._pcm(start, stop), SAMPLE_RATE)

    def _pcm(self, start: int, stop: int) -> bytes:
        offset = start % _LOOP_SAMPLES
        data = self._tape[offset * BYTES_PER_SAMPLE : (offset + stop - start) * BYTES_PER_SAMPLE]
        if start >= FADE_SAMPLES and stop <= self._length - FADE_SAMPLES:
            return data
        samples = np.frombuffer(bytearray(data), dtype="<i2")
        _fade(samples, start, self._length)
        return samples.tobytes()

    def close(self) -> None:
        self._closed = True
