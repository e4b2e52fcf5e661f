"""In which windows the vocoder runs, and in which chunks what it gives is spoken."""

from collections.abc import Iterator

from antiphon.audio.ramp import chunk_sizes
from antiphon.engines.hibari.dsp import LOOKAHEAD
from antiphon.engines.hibari.model import LEAD_FRAMES

FIRST_FRAMES = 8  # 100 ms
CHUNK_FRAMES = 64  # 800 ms
WINDOW_FRAMES = 256  # each costs its context besides: windows of 64 cost 30 % more in all

_LOADED_RTF = 0.25  # of a machine that speaks to as many listeners as it can


def plan(frames: range, urgent: bool) -> Iterator[tuple[range, list[range]]]:
    """Yield the vocoder's windows over `frames`, each with the chunks it is cut into.

    Args:
        frames: what to speak.
        urgent: a listener waits for the first chunk, so it gets a small window of its own.
    """
    sizes = chunk_sizes(FIRST_FRAMES if urgent else CHUNK_FRAMES, CHUNK_FRAMES, _LOADED_RTF)
    start = frames.start
    if urgent and len(frames) > 3 * FIRST_FRAMES:
        start += LEAD_FRAMES + next(sizes) + LOOKAHEAD
        opening = range(frames.start, start)
        yield opening, [opening]
    while start < frames.stop:
        stop = _stop(start, WINDOW_FRAMES, frames.stop)
        yield range(start, stop), list(_chunks(range(start, stop), sizes))
        start = stop


def _chunks(window: range, sizes: Iterator[int]) -> Iterator[range]:
    start = window.start
    while start < window.stop:
        stop = _stop(start, next(sizes), window.stop)
        yield range(start, stop)
        start = stop


def _stop(start: int, size: int, end: int) -> int:
    """Where a piece of about `size` ends: what would be left of less than half of that joins it."""
    return end if end - start < size * 1.5 else start + size
