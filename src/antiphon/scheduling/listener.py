"""One listener: its units in order, how far ahead of it the engine is, and when it may be stepped again."""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from antiphon.audio.pcm import PcmChunk
from antiphon.engines.contract import SpeechUnit
from antiphon.scheduling.job import ENDED, Job, JobState
from antiphon.scheduling.pace import Pace, PlaybackClock

if TYPE_CHECKING:
    from antiphon.scheduling.scheduler import Scheduler

# The unit being heard and one prefetched: enough to hide the first chunk of the next, little to throw away on a cancel.
UNITS_AHEAD = 2


class Listener:
    """The units of one session or request, synthesised in the order they were submitted."""

    def __init__(self, scheduler: "Scheduler", pace: Pace) -> None:
        self.pace = pace
        self._scheduler = scheduler
        self._jobs: deque[Job] = deque()
        self._playback = PlaybackClock()
        self._wakeup: asyncio.TimerHandle | None = None

    @property
    def speaking(self) -> bool:
        """Whether anything submitted is unfinished."""
        return bool(self._jobs)

    def submit(self, unit: SpeechUnit, on_ready: Callable[[], None]) -> Job:
        """Queue a unit; `on_ready` is called whenever its job has something new for its reader.

        Raises:
            CapacityError: as many listeners are speaking as can be kept gap-free.
        """
        return self._scheduler.submit(self, unit, on_ready)

    def close(self) -> None:
        """Close every job that is not finished. Idempotent."""
        for job in list(self._jobs):
            job.close()
        self._disarm()

    # What follows is for the scheduler and the jobs.

    def add(self, job: Job) -> None:
        """Append an admitted job."""
        self._jobs.append(job)
        self.advance()

    def taken(self, chunk: PcmChunk) -> None:
        """A chunk left for the listener: its clock moves, and there is room for the next step."""
        self._playback.delivered(chunk.duration_s, self._scheduler.now())
        self.advance()

    def closed(self) -> None:
        """Count a job that its reader closed before it was complete."""
        self._scheduler.closed()

    def advance(self) -> None:
        """Forget finished jobs; make the next one ready if its time has come, else set an alarm for when it does."""
        while self._jobs and self._jobs[0].finished:
            self._jobs.popleft()
        if not self._jobs:
            self._disarm()
            self._scheduler.fell_silent(self)
            return
        job = self._next_to_synthesise()
        if job is None:
            return
        delay_s = self._delay_s()
        if delay_s <= 0:
            self._disarm()
            self._scheduler.make_ready(job)
        elif delay_s != float("inf"):
            self._arm(delay_s)

    def _next_to_synthesise(self) -> Job | None:
        for position, job in enumerate(self._jobs):
            if position >= UNITS_AHEAD:
                return None
            if job.state not in ENDED:
                return job if job.state is JobState.WAITING else None
        return None

    def _delay_s(self) -> float:
        """Seconds until the next step may start; 0 for now; infinite while only the reader can make room."""
        buffered_s = sum(job.buffered_s for job in self._jobs)
        if buffered_s >= self.pace.max_buffer_s:
            return float("inf")
        if self.pace.mode == "asap":
            return 0.0
        return self._playback.lead_s(self._scheduler.now()) + buffered_s - self.pace.max_lead_s

    def _arm(self, delay_s: float) -> None:
        if self._wakeup is None:
            self._wakeup = self._scheduler.call_later(delay_s, self._alarm)

    def _alarm(self) -> None:
        self._wakeup = None
        self.advance()

    def _disarm(self) -> None:
        if self._wakeup is not None:
            self._wakeup.cancel()
            self._wakeup = None
