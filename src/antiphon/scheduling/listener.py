"""One listener: its units in order, how far ahead of it the engine is, and when it may be stepped again."""

import asyncio
from collections import deque
from collections.abc import Callable
from itertools import islice
from math import inf
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
        # Of all that was made, in any mode, as if it were played as it comes: it says who is to be served first.
        self._made = PlaybackClock()
        self._wakeup: asyncio.TimerHandle | None = None

    @property
    def speaking(self) -> bool:
        """Whether anything submitted is unfinished."""
        return bool(self._jobs)

    def submit(self, unit: SpeechUnit, on_ready: Callable[[], None], pace: Pace | None = None) -> Job:
        """Queue a unit.

        Args:
            unit: what to speak.
            on_ready: called whenever the job has something new for its reader: on the loop, at any point of another
                call, `Job.close` and `Listener.close` included.
            pace: of this unit; default the listener's.

        Raises:
            CapacityError: as many listeners are speaking as can be kept gap-free.
        """
        self._scheduler.admit(self)
        job = Job(self, unit, pace or self.pace, on_ready)
        self._jobs.append(job)
        # One message can hold text for tens of thousands of units; those beyond the window change nothing now.
        if len(self._jobs) <= UNITS_AHEAD:
            self.advance()
        return job

    def close(self) -> None:
        """Close every job and forget what the player was given, as a barge-in does. Idempotent; it may speak again."""
        # From the last to the first, so that none becomes the next on the way.
        for job in reversed(list(self._jobs)):
            job.close()
        self._playback, self._made = PlaybackClock(), PlaybackClock()

    # What follows is for the scheduler and the jobs.

    def made(self, chunk: PcmChunk, now: float) -> None:
        """A chunk was made, which puts off the time at which this listener runs dry."""
        self._made.delivered(chunk.duration_s, now)

    def taken(self, job: Job, chunk: PcmChunk) -> None:
        """A chunk left for the player, whose clock moves if it plays as it comes; there is room for the next step."""
        if job.pace.mode == "listener":
            self._playback.delivered(chunk.duration_s, self._scheduler.now())
        # What moves from the buffer to the player is as far ahead as before: an alarm that is set stays right.
        if self._wakeup is None:
            self.advance()

    def closed(self, job: Job, *, ended: bool) -> None:
        """A job was closed; `ended` says whether its synthesis was over before. The player drops its audio."""
        if job.pace.mode == "listener":
            self._playback.dropped(job.taken_s, self._scheduler.now())
        self._made = PlaybackClock()
        if not ended:
            self._scheduler.withdraw(job)
        self.advance()

    def advance(self) -> None:
        """Forget finished jobs; make the next one ready if its time has come, else set an alarm for when it does."""
        while self._jobs and self._jobs[0].finished:
            self._jobs.popleft()
        if not self._jobs:
            self._disarm()
            self._scheduler.fell_silent(self)
            return
        ahead = list(islice((job for job in self._jobs if not job.finished), UNITS_AHEAD))
        job = next((job for job in ahead if job.state not in ENDED), None)
        if job is None or job.state is not JobState.WAITING:
            return
        delay_s = self._delay_s(job.pace, ahead)
        if delay_s <= 0:
            self._disarm()
            now = self._scheduler.now()
            job.due_s = now + self._made.lead_s(now)
            self._scheduler.make_ready(job)
        elif delay_s != inf:
            self._arm(self._scheduler.now() + delay_s)

    def _delay_s(self, pace: Pace, ahead: list[Job]) -> float:
        """Seconds until the next step may start; 0 or less for now; infinite while only the reader can make room."""
        if sum(job.buffered_s for job in ahead) >= pace.max_buffer_s:
            return inf
        if pace.mode == "asap":
            return 0.0
        to_be_played_s = sum(job.buffered_s for job in ahead if job.pace.mode == "listener")
        # A step may start when the lead has fallen below its bound, not at it.
        return self._playback.lead_s(self._scheduler.now()) + to_be_played_s - pace.max_lead_s

    def _arm(self, when_s: float) -> None:
        if self._wakeup is not None and self._wakeup.when() <= when_s:
            return
        self._disarm()
        self._wakeup = self._scheduler.call_at(when_s, self._alarm)

    def _alarm(self) -> None:
        self._wakeup = None
        self.advance()

    def _disarm(self) -> None:
        if self._wakeup is not None:
            self._wakeup.cancel()
            self._wakeup = None
