"""Where a step runs: on a worker thread, on the event loop itself, or at the other end of a connection."""

import asyncio
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol, cast

from antiphon.audio.pcm import PcmChunk
from antiphon.engines.contract import Engine, EngineError, StepEngine, StreamEngine, Synthesis, is_stream_engine
from antiphon.scheduling.job import Job, JobState
from antiphon.scheduling.remote import RemoteSynthesis

# A hop to a thread and back costs about this much; cheaper steps run on the loop.
INLINE_STEP_MS = 0.2
INLINE_BATCH = 16
# A remote engine queues by itself; this only bounds what one process keeps in flight.
STREAMS_AT_ONCE = 1024


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
        """Wait for steps in progress and free what they ran on."""
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
    """Steps on worker threads."""

    def __init__(self, engine: StepEngine, workers: int) -> None:
        self.room = self.batch = workers
        self._engine = engine
        self._loop = asyncio.get_running_loop()
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="antiphon-step")
        self._running: set[asyncio.Future[Outcome]] = set()

    def start(self, job: Job, done: Callable[[Job, Outcome], None]) -> None:
        """Run one step on a free thread."""

        def back(step: asyncio.Future[Outcome]) -> None:
            self._running.discard(step)
            done(job, step.result())

        step = self._loop.run_in_executor(self._threads, _step, self._engine, job)
        self._running.add(step)
        step.add_done_callback(back)

    async def close(self) -> None:
        """Wait for the steps, then for the threads, which are idle by then."""
        while self._running:
            await asyncio.wait(self._running)
        self._threads.shutdown()


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
        while self._tasks:
            await asyncio.wait(self._tasks)

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
