"""Where a step runs: on a worker thread, on the event loop itself, or at the other end of a connection."""

import asyncio
import contextlib
import logging
import threading
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any, Protocol, cast

from antiphon.audio.pcm import PcmChunk
from antiphon.engines.contract import Engine, EngineError, StepEngine, StreamEngine, Synthesis, is_stream_engine
from antiphon.scheduling.job import Job, JobState
from antiphon.scheduling.remote import RemoteSynthesis

# A hop to a thread and back costs about this much; cheaper steps run on the loop.
INLINE_STEP_MS = 0.2
INLINE_BATCH = 16
# How long steps may go on after they were told to end, before they are left to themselves. Longer than what
# `RemoteSynthesis` leaves to a source.
CLOSE_TIMEOUT_S = 10.0
# A remote engine queues by itself; this only bounds what one process keeps in flight.
STREAMS_AT_ONCE = 1024

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a step gave.

    Attributes:
        chunk: audio; None when there was none left, or it failed.
        more: whether the unit may have another step.
        error: why it failed.
        took_s: how long the step took, wall clock.
    """

    chunk: PcmChunk | None
    more: bool
    error: Exception | None
    took_s: float


class Stepper(Protocol):
    """Runs steps.

    Attributes:
        room: how many steps may be in progress at once.
        batch: how many may be started in one turn of the loop.
    """

    room: int
    batch: int

    def start(self, job: Job, done: Callable[[Job, Outcome], None]) -> None:
        """Run one step of a job; `done` is called on the loop, possibly before this returns."""
        ...

    async def close(self) -> None:
        """Wait for steps in progress, at most `CLOSE_TIMEOUT_S`, and free what they ran on."""
        ...


def stepper_for(engine: Engine, workers: int) -> Stepper:
    """Choose where an engine's steps run."""
    if is_stream_engine(engine):
        return StreamStepper(engine)
    if engine.info.step_ms < INLINE_STEP_MS:
        return InlineStepper(engine)
    return ThreadStepper(engine, workers)


class InlineStepper:
    """Steps on the loop, in batches, so that sockets are served in between."""

    def __init__(self, engine: StepEngine) -> None:
        self.room = self.batch = INLINE_BATCH
        self._engine = engine

    def start(self, job: Job, done: Callable[[Job, Outcome], None]) -> None:
        """Run one step here and now."""
        done(job, _step(self._engine, job))

    async def close(self) -> None:
        """Nothing runs between calls."""


class ThreadStepper:
    """Steps on worker threads. They are daemons, so that a step that never ends cannot hold up the process's end."""

    def __init__(self, engine: StepEngine, workers: int) -> None:
        self.room = self.batch = workers
        self._engine = engine
        self._loop = asyncio.get_running_loop()
        self._steps: SimpleQueue[tuple[Job, Callable[[Job, Outcome], None]] | None] = SimpleQueue()
        self._running = 0
        self._idle = asyncio.Event()
        self._idle.set()
        self._threads = [
            threading.Thread(target=self._work, name=f"antiphon-step-{index}", daemon=True) for index in range(workers)
        ]
        for thread in self._threads:
            thread.start()

    def start(self, job: Job, done: Callable[[Job, Outcome], None]) -> None:
        """Run one step on a free thread."""
        self._running += 1
        self._idle.clear()
        self._steps.put((job, done))

    def _work(self) -> None:
        while (step := self._steps.get()) is not None:
            job, done = step
            outcome = _step(self._engine, job)
            with contextlib.suppress(RuntimeError):  # a loop that has ended waited long enough for this step
                self._loop.call_soon_threadsafe(self._back, job, done, outcome)
            del step, job, done, outcome  # an idle thread would keep its last job, and the listener with it

    def _back(self, job: Job, done: Callable[[Job, Outcome], None], outcome: Outcome) -> None:
        self._running -= 1
        if not self._running:
            self._idle.set()
        done(job, outcome)

    async def close(self) -> None:
        """Wait for the steps, then for the threads, which are idle by then."""
        for _ in self._threads:
            self._steps.put(None)
        try:
            async with asyncio.timeout(CLOSE_TIMEOUT_S):
                await self._idle.wait()
        except TimeoutError:
            _abandon(self._running)
            return
        for thread in self._threads:
            thread.join()


class StreamStepper:
    """Waits for the next chunk of an asynchronous engine; a task per step in progress."""

    def __init__(self, engine: StreamEngine) -> None:
        self.room = self.batch = STREAMS_AT_ONCE
        self._engine = engine
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, job: Job, done: Callable[[Job, Outcome], None]) -> None:
        """Wait for one chunk in a task of its own."""
        self._spawn(self._wait(job, done))

    async def close(self) -> None:
        """Wait until every stream has been closed at its source."""
        deadline = time.monotonic() + CLOSE_TIMEOUT_S
        # The end of one may begin another, which closes its source.
        while self._tasks:
            done, _ = await asyncio.wait(self._tasks, timeout=max(0.0, deadline - time.monotonic()))
            if not done:
                _abandon(len(self._tasks))
                return

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _wait(self, job: Job, done: Callable[[Job, Outcome], None]) -> None:
        started = time.perf_counter()
        chunk, error = None, None
        try:
            # A job closed before this task first ran has nothing to close yet, and must not begin.
            if job.state is not JobState.CLOSED:
                chunk = await self._synthesis(job).step()
        except Exception as exc:  # noqa: BLE001 - whatever an engine raises ends its unit, never the server
            error = exc
        done(job, Outcome(chunk, chunk is not None, error, time.perf_counter() - started))

    def _synthesis(self, job: Job) -> RemoteSynthesis:
        if job.synthesis is None:
            job.synthesis = RemoteSynthesis(self._engine.synthesize(job.unit), self._spawn)
        return cast("RemoteSynthesis", job.synthesis)  # nobody else sets it


def _abandon(steps: int) -> None:
    _log.warning(
        "%d steps did not end within %g s of being told to, and are left to themselves", steps, CLOSE_TIMEOUT_S
    )


def _step(engine: StepEngine, job: Job) -> Outcome:
    started = time.perf_counter()
    chunk, more, error = None, False, None
    try:
        if job.synthesis is None:
            job.synthesis = engine.synthesize(job.unit)
        synthesis = cast("Synthesis", job.synthesis)  # nobody else sets it
        # A job that is closed meanwhile either sees the synthesis set above and closes it, or is seen closed here.
        if job.state is JobState.CLOSED:
            synthesis.close()
        else:
            chunk = next(synthesis, None)
            more = chunk is not None and not synthesis.exhausted
    except KeyboardInterrupt:
        raise  # the user's, which only reaches the main thread
    except BaseException as exc:  # noqa: BLE001 - whatever an engine raises ends its unit, never the server
        error = _plain(exc)
    return Outcome(chunk, more, error, time.perf_counter() - started)


def _plain(error: BaseException) -> Exception:
    """Extensions raise BaseExceptions of their own, and SystemExit, which would end whoever is told of them."""
    if isinstance(error, Exception):
        return error
    plain = EngineError(f"the engine stopped with {type(error).__name__}")
    plain.__cause__ = error
    return plain
