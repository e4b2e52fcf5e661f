"""Where a step runs: on a worker thread, on the event loop itself, or at the other end of a connection."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol

from antiphon.audio.pcm import PcmChunk
from antiphon.engines.contract import Engine, StepEngine, StreamEngine, Synthesis, is_stream_engine
from antiphon.scheduling.job import Job, JobState

# A hop to a thread and back costs about this much; cheaper steps run on the loop.
INLINE_STEP_MS = 0.2
INLINE_BATCH = 16
# A remote engine queues by itself; this only bounds what one process keeps in flight.
STREAMS_AT_ONCE = 1024


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a step gave: a chunk, or an error, or neither when the unit is complete; and how long it took."""

    chunk: PcmChunk | None
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

    def start(self, job: Job, done: Callable[[Job, Outcome], None]) -> None:
        """Run one step on a free thread."""
        future = self._threads.submit(_step, self._engine, job)
        future.add_done_callback(lambda done_: self._loop.call_soon_threadsafe(done, job, done_.result()))

    async def close(self) -> None:
        """Wait for the threads."""
        await asyncio.to_thread(self._threads.shutdown, wait=True)


class StreamStepper:
    """Waits for the next chunk of an asynchronous engine; a task per step in progress."""

    def __init__(self, engine: StreamEngine) -> None:
        self.room = self.batch = STREAMS_AT_ONCE
        self._engine = engine
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, job: Job, done: Callable[[Job, Outcome], None]) -> None:
        """Wait for one chunk in a task of its own."""
        task = asyncio.get_running_loop().create_task(self._wait(job, done))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """Wait until every stream has been closed at its source."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def _wait(self, job: Job, done: Callable[[Job, Outcome], None]) -> None:
        started = time.perf_counter()
        chunk, error = None, None
        try:
            stream = job.synthesis or _RemoteSynthesis(self._engine.synthesize(job.unit), self._tasks)
            assert isinstance(stream, _RemoteSynthesis)  # noqa: S101 - for the type checker: only this class sets it
            job.synthesis = stream
            chunk = await stream.step()
        except Exception as exc:  # noqa: BLE001 - whatever an engine raises ends its unit, never the server
            error = exc
        done(job, Outcome(chunk, error, time.perf_counter() - started))


class _RemoteSynthesis:
    """An asynchronous stream with the face of a `Synthesis`, so that a job closes every kind alike."""

    def __init__(self, stream: AsyncIterator[PcmChunk], tasks: set[asyncio.Task[None]]) -> None:
        self._stream = stream
        self._tasks = tasks
        self._step: asyncio.Task[PcmChunk | None] | None = None
        self._closed = False

    def __iter__(self) -> "Synthesis":
        return self

    def __next__(self) -> PcmChunk:
        raise TypeError("an asynchronous engine is awaited, not iterated")

    async def step(self) -> PcmChunk | None:
        """Return the next chunk; None at the end, or once closed."""
        if self._closed:
            return None
        self._step = asyncio.ensure_future(anext(self._stream, None))
        try:
            return await self._step
        except asyncio.CancelledError:
            if self._closed:
                return None
            raise

    def close(self) -> None:
        """Cancel the step in progress and close the stream at its source."""
        if self._closed:
            return
        self._closed = True
        if self._step is not None:
            self._step.cancel()
        task = asyncio.get_running_loop().create_task(self._aclose())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _aclose(self) -> None:
        if self._step is not None:
            await asyncio.wait([self._step])
        aclose = getattr(self._stream, "aclose", None)
        if aclose is not None:
            await aclose()


def _step(engine: StepEngine, job: Job) -> Outcome:
    started = time.perf_counter()
    chunk, error = None, None
    try:
        if job.synthesis is None:
            job.synthesis = engine.synthesize(job.unit)
        # A job that is closed meanwhile either sees the synthesis set above and closes it, or is seen closed here.
        if job.state is JobState.CLOSED:
            job.synthesis.close()
        else:
            chunk = next(job.synthesis, None)
    except Exception as exc:  # noqa: BLE001 - whatever an engine raises ends its unit, never the server
        error = exc
    return Outcome(chunk, error, time.perf_counter() - started)
