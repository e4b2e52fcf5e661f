"""A scheduler driven by hand: its clock moves when told to, its jobs are read one chunk at a time."""

import asyncio
import heapq
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from antiphon.audio.pcm import PcmChunk
from antiphon.engines.contract import Engine, SpeechUnit
from antiphon.scheduling import Job, Listener, Scheduler


class HandTimer:
    """A timer of `HandClock`."""

    def __init__(self, when: float, callback: Callable[[], None]) -> None:
        self._when = when
        self.callback: Callable[[], None] | None = callback

    def when(self) -> float:
        return self._when

    def cancel(self) -> None:
        self.callback = None

    def __lt__(self, other: "HandTimer") -> bool:
        return self._when < other._when


class HandClock:
    """What a scheduler asks of the event loop, with a time that stands still until `advance`."""

    def __init__(self) -> None:
        self.now = 1000.0
        self._timers: list[HandTimer] = []

    def time(self) -> float:
        return self.now

    def call_soon(self, callback: Callable[[], None]) -> asyncio.Handle:
        return asyncio.get_running_loop().call_soon(callback)

    def call_at(self, when: float, callback: Callable[[], None]) -> HandTimer:
        timer = HandTimer(when, callback)
        heapq.heappush(self._timers, timer)
        return timer

    @property
    def armed(self) -> list[float]:
        """Seconds until each timer that is set."""
        return sorted(timer.when() - self.now for timer in self._timers if timer.callback is not None)

    async def advance(self, seconds: float) -> None:
        """Let time pass, timer by timer."""
        end = self.now + seconds
        await settle()
        while self._timers and self._timers[0].when() <= end:
            timer = heapq.heappop(self._timers)
            self.now = max(self.now, timer.when())
            if timer.callback is not None:
                callback, timer.callback = timer.callback, None
                callback()
            await settle()
        self.now = end


async def settle() -> None:
    """Let everything that can happen now happen (on the loop; a thread is waited for otherwise)."""
    for _ in range(30):
        await asyncio.sleep(0)


def by_hand(scheduler: Scheduler) -> HandClock:
    """Take a scheduler's clock away from the loop."""
    clock = HandClock()
    scheduler._loop = clock  # type: ignore[assignment]  # the part of it that a scheduler uses
    return clock


@asynccontextmanager
async def scheduling(engine: Engine, **options: Any) -> AsyncIterator[Scheduler]:
    """A scheduler that is closed, within bounds, whatever happens."""
    scheduler = Scheduler(engine, **options)
    try:
        yield scheduler
    finally:
        async with asyncio.timeout(10):
            await scheduler.close()


class Reader:
    """A job and what its reader does."""

    def __init__(self, listener: Listener, text: str, **fields: Any) -> None:
        self.ready = asyncio.Event()
        self.job: Job = listener.submit(SpeechUnit(text, **fields), self.ready.set)

    def take_all(self) -> list[PcmChunk]:
        """Take what is there."""
        return list(iter(self.job.take, None))

    async def until_ready(self) -> None:
        """Wait for news."""
        async with asyncio.timeout(10):
            await self.ready.wait()
        self.ready.clear()

    async def read(self) -> bytes:
        """Take everything, as it comes."""
        pcm = bytearray()
        while not self.job.finished:
            if (chunk := self.job.take()) is not None:
                pcm += chunk.data
            elif not self.job.finished:
                await self.until_ready()
        return bytes(pcm)


async def until(condition: Callable[[], object], timeout_s: float = 5.0) -> None:
    """Wait until something holds; for what threads do."""
    async with asyncio.timeout(timeout_s):
        while not condition():  # noqa: ASYNC110 - a thread has no event of this loop to set
            await asyncio.sleep(0.001)
