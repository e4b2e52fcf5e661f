"""One unit on its way from an engine to a listener."""

from collections import deque
from collections.abc import Callable
from enum import Enum, auto
from typing import TYPE_CHECKING

from antiphon.audio.pcm import PcmChunk
from antiphon.engines.contract import SpeechUnit, Synthesis

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


class Job:
    """A submitted unit: a bounded queue of its chunks, filled by the scheduler and emptied by one reader.

    The reader alternates `take()` with waiting for `on_ready`.

    Attributes:
        unit: what is spoken.
        error: why synthesis failed; chunks from before the failure are still given.
        submitted_at_s, first_chunk_at_s: times of the scheduler's clock; the latter None before the first chunk.
    """

    def __init__(self, listener: "Listener", unit: SpeechUnit, now: float, on_ready: Callable[[], None]) -> None:
        self.listener = listener
        self.unit = unit
        self.on_ready = on_ready
        self.error: Exception | None = None
        self.submitted_at_s = now
        self.first_chunk_at_s: float | None = None
        self.state = JobState.WAITING
        self.synthesis: Synthesis | None = None
        self._chunks: deque[PcmChunk] = deque()
        self.buffered_s = 0.0

    @property
    def finished(self) -> bool:
        """Whether everything it will ever give has been taken."""
        return self.state in ENDED and not self._chunks

    def take(self) -> PcmChunk | None:
        """Return the next chunk, or None when none is there now. Taking makes room for the next step."""
        if not self._chunks:
            return None
        chunk = self._chunks.popleft()
        self.buffered_s -= chunk.duration_s
        self.listener.taken(chunk)
        return chunk

    def close(self) -> None:
        """Stop: no further step starts, a running one ends early, buffered audio is dropped. Idempotent."""
        self._chunks.clear()
        self.buffered_s = 0.0
        if self.state not in ENDED:
            self.state = JobState.CLOSED
            # A step in progress ends early; its late result is dropped when it comes back.
            if self.synthesis is not None:
                self.synthesis.close()
            self.listener.closed()
        self.listener.advance()

    # What follows is for the scheduler.

    def deliver(self, chunk: PcmChunk, now: float) -> None:
        """Append a chunk, wake the reader, and wait for the next step to be due."""
        self.state = JobState.WAITING
        if self.first_chunk_at_s is None:
            self.first_chunk_at_s = now
        self._chunks.append(chunk)
        self.buffered_s += chunk.duration_s
        self.on_ready()

    def end(self, state: JobState, error: Exception | None = None) -> None:
        """Mark the end of synthesis and wake the reader."""
        self.state = state
        self.error = error
        self.on_ready()
