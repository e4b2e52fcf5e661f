import asyncio
import time
from typing import cast

import pytest
from tests.scheduling.driving import Reader, scheduling, until

from antiphon.engines.hibari import HibariEngine
from antiphon.scheduling import Scheduler
from antiphon.scheduling.steppers import ThreadStepper

pytestmark = pytest.mark.anyio

LONG = "and then there was another one, which was much longer than the one before it " * 10


@pytest.fixture(scope="module")
def hibari() -> HibariEngine:
    engine = HibariEngine()
    engine.load()
    return engine


async def stopped_after_ms(scheduler: Scheduler) -> float:
    """Close a unit in the middle of its first, long step; how long the step went on."""
    reader = Reader(scheduler.listener(), LONG)
    await until(lambda: scheduler.statistics().stepping == 1)
    await asyncio.sleep(0.02)
    assert scheduler.statistics().stepping == 1
    closed = time.perf_counter()
    reader.job.close()
    # Without turns of the loop meanwhile, which would keep the interpreter from the step's thread.
    await cast("ThreadStepper", scheduler._stepper)._idle.wait()
    assert reader.take_all() == []
    return (time.perf_counter() - closed) * 1000


async def test_a_running_graph_stops_within_10_ms(hibari: HibariEngine) -> None:
    async with scheduling(hibari, workers=1) as scheduler:
        times = [await stopped_after_ms(scheduler) for _ in range(5)]
        # The median, because the machine of a test is not alone with it.
        assert sorted(times)[2] <= 10
        assert scheduler.statistics().steps == 5
