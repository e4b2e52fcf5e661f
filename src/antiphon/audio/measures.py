"""What a listener hears of a stream: when it becomes audible, whether it holes, whether its seams click."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from antiphon.audio.pcm import to_float

AUDIBLE = 1e-3  # of full scale, -60 dBFS: louder is heard, softer is silence

_SEAM_NEIGHBOURS = 48  # 2 ms at 24 kHz


@dataclass(frozen=True, slots=True)
class Arrival:
    """A chunk as the listener received it.

    Attributes:
        time_s: when it arrived, on any clock.
        duration_s: how long it plays.
    """

    time_s: float
    duration_s: float


def audible_span(pcm: bytes, threshold: float = AUDIBLE) -> tuple[int, int] | None:
    """Return the first audible sample's index and the index after the last one's; None if all is silent.

    Args:
        pcm: s16le mono samples.
        threshold: of full scale; a sample is audible if it is larger.
    """
    loud = np.flatnonzero(np.abs(to_float(pcm)) > threshold)
    return (int(loud[0]), int(loud[-1]) + 1) if len(loud) else None


class Playback:
    """A player that plays in real time and, after a hole, goes on as soon as the next chunk is there.

    Args:
        buffer_s: how long it waits after the first arrival before it starts.

    Attributes:
        worst_starvation_s: the longest time so far that it had nothing to play.
    """

    def __init__(self, buffer_s: float = 0.0) -> None:
        self._buffer_s = buffer_s
        self._runs_dry: float | None = None
        self.worst_starvation_s = 0.0

    def take(self, arrival: Arrival) -> float:
        """Take the next chunk, in order of arrival, and return when it begins to play."""
        if self._runs_dry is None:
            start = arrival.time_s + self._buffer_s
        else:
            start = max(self._runs_dry, arrival.time_s)
            self.worst_starvation_s = max(self.worst_starvation_s, start - self._runs_dry)
        self._runs_dry = start + arrival.duration_s
        return start


def worst_starvation_s(arrivals: Iterable[Arrival], buffer_s: float = 0.0) -> float:
    """Return the longest time that a `Playback` had nothing to play before the last chunk arrived.

    Args:
        arrivals: in order of arrival.
        buffer_s: how long the player waits before it starts.
    """
    playback = Playback(buffer_s)
    for arrival in arrivals:
        playback.take(arrival)
    return playback.worst_starvation_s


def gap_free(arrivals: Iterable[Arrival], buffer_s: float = 0.0) -> bool:
    """Whether a player that waits `buffer_s` never runs dry (of a microsecond or more)."""
    return worst_starvation_s(arrivals, buffer_s) < 1e-6


def seam_step(samples: NDArray[np.int16], seam: int) -> float:
    """Return how much the step into sample `seam` exceeds those around it, as a fraction of full scale; 0 if it does not.

    Args:
        samples: s16 samples, shape [n].
        seam: index of the first sample of the later piece.
    """
    window = samples[max(0, seam - _SEAM_NEIGHBOURS) : seam + _SEAM_NEIGHBOURS].astype(np.int32)
    steps = np.abs(np.diff(window))
    at = min(seam, _SEAM_NEIGHBOURS) - 1
    others = np.delete(steps, at)
    if not len(others):
        return 0.0
    return max(0.0, float(steps[at]) - float(others.max())) / 32768.0
