"""One unit on its way from an engine to a listener."""

import contextlib
from collections import deque
from collections.abc import Callable
from enum import Enum, auto
from typing import TYPE_CHECKING, Protocol

from antiphon.audio.pcm import PcmChunk
from antiphon.engines.contract import EngineError, SpeechUnit
from antiphon.scheduling.pace import Pace

if TYPE_CHECKING:
    from antiphon.scheduling.listener import Listener


class JobState(Enum):
    """The life of a job. `READY` means that it stands in the policy's queue."""

    WAITING = auto()
    READY = auto()
    STEPPING = auto()
    COMPLETE = auto()
    FAILED = auto()
    CLOSED = auto()


ENDED = frozenset({JobState.COMPLETE, JobState.FAILED, JobState.CLOSED})


class Closable(Protocol):
    """What a job knows of the synthesis that a stepper runs for it."""

    def close(self) -> None:
        """Stop; a running step ends early."""
        ...


class Job:
    """A submitted unit: a bounded queue of its chunks, filled by the scheduler and emptied by one reader.

    The reader alternates `take()` with waiting for `on_ready`, which is called on the loop, in the middle of whatever
    caused the news, the reader's own `close()` included: it should only note that there is something to look at.

    Attributes:
        unit: what is spoken.
        pace: how far ahead.
        on_ready: called when there is something new.
        error: why it is not whole; chunks from before a failure are still given.
        ready_at_s: when its first step could start, by the scheduler's clock; None before.
        first_chunk_at_s: when its first chunk was there; None before.
        due_s: when its listener runs dry unless it is stepped before; set whenever it becomes able to step.
        buffered_s: seconds of audio that were made and not taken.
        taken_s: seconds of audio that were taken.
    """

    __slots__ = (
        "_chunks",
        "_listener",
        "buffered_s",
        "due_s",
        "error",
        "first_chunk_at_s",
        "on_ready",
        "pace",
        "ready_at_s",
        "state",
        "synthesis",
        "taken_s",
        "unit",
    )

    def __init__(self, listener: "Listener", unit: SpeechUnit, pace: Pace, on_ready: Callable[[], None]) -> None:
        self._listener = listener
        self.unit = unit
        self.pace = pace
        self.on_ready = on_ready
        self.error: Exception | None = None
        self.due_s = 0.0
        self.ready_at_s: float | None = None
        self.first_chunk_at_s: float | None = None
        self.state = JobState.WAITING
        self.synthesis: Closable | None = None
        # Made with the first chunk: one message can hold text for tens of thousands of units.
        self._chunks: deque[PcmChunk] | None = None
        self.buffered_s = self.taken_s = 0.0

    @property
    def finished(self) -> bool:
        """Whether everything it will ever give has been taken."""
        return self.state in ENDED and not self._chunks

    def take(self) -> PcmChunk | None:
        """Return the next chunk, or None when none is there now. Taking makes room for the next step."""
        if not self._chunks:
            return None
        chunk = self._chunks.popleft()
        # Exactly 0 when empty: rounding errors must not add up over a long unit.
        self.buffered_s = self.buffered_s - chunk.duration_s if self._chunks else 0.0
        self.taken_s += chunk.duration_s
        self._listener.taken(self, chunk)
        return chunk

    def close(self) -> None:
        """Stop: no further step starts, a running one ends early, and what was not taken is dropped.

        The player is expected to drop what it was given of this unit, too. Calls `on_ready` before it returns.
        Idempotent; without effect once finished.
        """
        if self.finished:
            return
        self._chunks = None
        self.buffered_s = 0.0
        ended, self.state = self.state in ENDED, JobState.CLOSED
        self.error = EngineError("speech was stopped before its end")
        # A step in progress ends early; its late result is dropped when it comes back.
        if self.synthesis is not None and not ended:
            with contextlib.suppress(Exception):  # whatever an engine raises ends its unit, and that is over
                self.synthesis.close()
        self._listener.closed(self, ended=ended)
        self.on_ready()

    # What follows is for the scheduler.

    def deliver(self, chunk: PcmChunk, now: float) -> None:
        """Append a chunk for the reader."""
        if self._chunks is None:
            self._chunks = deque()
            self.first_chunk_at_s = now
        self._chunks.append(chunk)
        self._listener.made(chunk, now)
        self.buffered_s += chunk.duration_s

    def stepped(self, state: JobState, error: Exception | None = None) -> None:
        """Enter `state` after a step, wake the reader, and let the listener see what is next."""
        self.state = state
        self.error = error
        self.on_ready()
        self._listener.advance()
