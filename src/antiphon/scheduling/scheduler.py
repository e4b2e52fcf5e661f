"""Gives an engine one step at a time, so that policy can change without touching engines.

All decisions are made on the event loop; what runs a step knows nothing but that step. That keeps the state free of
locks.
"""

import asyncio
import math
import os
from collections import Counter
from collections.abc import Callable

from antiphon.engines.contract import Engine, EngineLostError
from antiphon.scheduling.job import Job, JobState
from antiphon.scheduling.listener import Listener
from antiphon.scheduling.pace import Pace
from antiphon.scheduling.policy import EarliestDeadline, Policy
from antiphon.scheduling.statistics import SchedulerStatistics
from antiphon.scheduling.steppers import Outcome, stepper_for

# Beyond this share of the cores a burst of arrivals makes listeners run dry (arrivals replayed against a real-time
# player, this engine and server on two cores).
USABLE_SHARE_OF_CORES = 0.7
MOST_SPEAKING = 1000
# Alarms that are due at about the same time ring in one turn of the loop: with 800 listeners a quarter less CPU each.
ALARM_GRID_S = 0.01


class CapacityError(Exception):
    """One more speaking listener than can be kept gap-free; retry when another has finished."""


class Scheduler:
    """Steps the units of many listeners through one engine. To be made, used and closed on one event loop.

    Args:
        engine: a loaded engine.
        workers: threads that step; default one per core.
        policy: which job is next; default the earliest deadline first.
        max_speaking: listeners that may have unfinished units at once; default from the engine's real-time factor.
        on_first_chunk: told, for every unit, the seconds from when its first step could start to its first chunk.

    Attributes:
        lost: why nothing can be spoken any more.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        workers: int | None = None,
        policy: Policy | None = None,
        max_speaking: int | None = None,
        on_first_chunk: Callable[[float], None] = lambda _: None,
    ) -> None:
        workers = workers or usable_cores()
        self._cores = min(workers, usable_cores())
        self.max_speaking = max_speaking or admissible(engine.info.rtf, self._cores)
        self.lost: EngineLostError | None = None
        self._on_first_chunk = on_first_chunk
        self._policy = policy or EarliestDeadline()
        self._stepper = stepper_for(engine, workers)
        self._loop = asyncio.get_running_loop()
        self._speaking: set[Listener] = set()
        self._closed = False
        self._stepping = 0
        self._dispatch_due = False
        self._ended: Counter[JobState] = Counter()
        self._steps = self._refused = 0
        self._audio_s = self._synthesis_s = 0.0

    def listener(self, pace: Pace | None = None) -> Listener:
        """Return a new listener; it takes no capacity until it speaks."""
        return Listener(self, pace or Pace())

    def statistics(self) -> SchedulerStatistics:
        """Return a snapshot of what it has done and is doing."""
        return SchedulerStatistics(
            speaking=len(self._speaking),
            max_speaking=self.max_speaking,
            ready=len(self._policy),
            stepping=self._stepping,
            steps=self._steps,
            units_complete=self._ended[JobState.COMPLETE],
            units_failed=self._ended[JobState.FAILED],
            units_closed=self._ended[JobState.CLOSED],
            refused=self._refused,
            audio_s=self._audio_s,
            synthesis_s=self._synthesis_s,
        )

    def admit_for(self, rtf: float) -> None:
        """Admit as many as an engine of this real-time factor keeps gap-free here, from now on."""
        self.max_speaking = admissible(rtf, self._cores)

    async def close(self) -> None:
        """Close every listener, admit no more, and wait for the steps in progress, within bounds. Idempotent."""
        self._closed = True
        for listener in list(self._speaking):
            listener.close()
        await self._stepper.close()

    # What follows is for listeners.

    def now(self) -> float:
        """Return the time of the loop's clock in seconds."""
        return self._loop.time()

    def call_at(self, when_s: float, callback: Callable[[], None]) -> asyncio.TimerHandle:
        """Call back once, at time `when_s` of `now` or within `ALARM_GRID_S` of it, together with others."""
        return self._loop.call_at(math.ceil(when_s / ALARM_GRID_S) * ALARM_GRID_S, callback)

    def admit(self, listener: Listener) -> None:
        """Let a listener speak.

        Raises:
            CapacityError: too many others do, or speech has ended here.
        """
        if listener in self._speaking:
            return
        if self._closed:
            raise CapacityError("the server is shutting down")
        if len(self._speaking) >= self.max_speaking:
            self._refused += 1
            raise CapacityError(
                f"{self.max_speaking} listeners are speaking, which is all this server can keep gap-free"
            )
        self._speaking.add(listener)

    def fell_silent(self, listener: Listener) -> None:
        """Take back the place of a listener that has nothing left to say."""
        self._speaking.discard(listener)

    def make_ready(self, job: Job) -> None:
        """Queue a job for its next step."""
        job.state = JobState.READY
        job.ready_at_s = job.ready_at_s or self.now()
        self._policy.push(job, self.now())
        self._dispatch_soon()

    def withdraw(self, job: Job) -> None:
        """Forget a job whose reader closed it before its synthesis was over."""
        self._policy.discard(job)
        self._ended[JobState.CLOSED] += 1

    def _dispatch_soon(self) -> None:
        # Through the loop, so that a burst of units is ordered before the first of them is chosen.
        if not self._dispatch_due:
            self._dispatch_due = True
            self._loop.call_soon(self._dispatch)

    def _dispatch(self) -> None:
        self._dispatch_due = False
        for _ in range(self._stepper.batch):
            if self._stepping >= self._stepper.room or (job := self._policy.pop(self.now())) is None:
                return
            job.state = JobState.STEPPING
            self._steps += 1
            self._stepping += 1
            self._stepper.start(job, self._stepped)
        if len(self._policy):
            self._dispatch_soon()

    def _stepped(self, job: Job, outcome: Outcome) -> None:
        self._stepping -= 1
        self._synthesis_s += outcome.took_s
        # A job closed meanwhile has no use for its late result.
        if job.state is JobState.STEPPING:
            self._settle(job, outcome)
        if len(self._policy):
            self._dispatch_soon()

    def _settle(self, job: Job, outcome: Outcome) -> None:
        # Silence of no length is no news, and a queue of it would have no bound.
        if outcome.chunk is not None and outcome.chunk.data:
            self._audio_s += outcome.chunk.duration_s
            if job.first_chunk_at_s is None and job.ready_at_s is not None:
                self._on_first_chunk(self.now() - job.ready_at_s)
            job.deliver(outcome.chunk, self.now())
        if outcome.more:
            job.stepped(JobState.WAITING)
            return
        if isinstance(outcome.error, EngineLostError):
            self.lost = outcome.error
        state = JobState.FAILED if outcome.error else JobState.COMPLETE
        self._ended[state] += 1
        job.stepped(state, outcome.error)


def usable_cores() -> int:
    """Return how many cores this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def admissible(rtf: float, cores: int) -> int:
    """Return how many real-time listeners `cores` cores keep gap-free with an engine of real-time factor `rtf`."""
    return max(1, min(MOST_SPEAKING, int(cores * USABLE_SHARE_OF_CORES / rtf)))
