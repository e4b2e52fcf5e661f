import asyncio
from contextlib import aclosing

import pytest
from tests.scheduling.driving import scheduling, settle, until

from antiphon.engines.contract import EngineError, SpeechUnit
from antiphon.engines.tone import ToneEngine, tone_pcm
from antiphon.scheduling import CapacityError, speak
from antiphon.testing.engines import FailingEngine, GatedEngine

pytestmark = pytest.mark.anyio

UNIT = SpeechUnit("Said aloud, from the beginning to the end.")


async def test_all_chunks_come_in_order() -> None:
    async with scheduling(ToneEngine()) as scheduler:
        chunks = [chunk.data async for chunk in speak(scheduler.listener(), UNIT)]
        assert b"".join(chunks) == tone_pcm(UNIT.text)


async def test_leaving_early_stops_synthesis() -> None:
    engine = GatedEngine()
    async with scheduling(engine, workers=1) as scheduler:
        engine.release()
        async with aclosing(speak(scheduler.listener(), UNIT)) as chunks:
            assert (await anext(chunks)).data
            await until(lambda: engine.steps_started == 2)
        await until(lambda: scheduler.statistics().stepping == 0)
        await settle()
        assert engine.steps_started == 2
        assert scheduler.statistics().speaking == 0


async def test_being_cancelled_while_waiting_stops_synthesis() -> None:
    engine = GatedEngine()
    async with scheduling(engine, workers=1) as scheduler:
        first = asyncio.ensure_future(anext(speak(scheduler.listener(), UNIT)))
        await until(lambda: engine.steps_started == 1)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        assert scheduler.statistics().units_closed == 1


async def test_a_failure_is_raised_after_what_came_before_it() -> None:
    async with scheduling(FailingEngine(2)) as scheduler:
        chunks = speak(scheduler.listener(), UNIT)
        assert [(await anext(chunks)).data for _ in range(2)] == [
            tone_pcm(UNIT.text, 0, 1920),
            tone_pcm(UNIT.text, 1920, 2 * 1920),
        ]
        with pytest.raises(EngineError, match="fails here"):
            await anext(chunks)


async def test_speech_that_is_stopped_by_others_is_not_taken_for_whole() -> None:
    engine = GatedEngine()
    async with scheduling(engine, workers=1) as scheduler:
        listener = scheduler.listener()
        first = asyncio.ensure_future(anext(speak(listener, UNIT)))
        await until(lambda: engine.steps_started == 1)
        listener.close()
        with pytest.raises(EngineError, match="stopped before its end"):
            async with asyncio.timeout(5):
                await first


async def test_beyond_capacity_it_raises_at_once() -> None:
    engine = GatedEngine()
    async with scheduling(engine, max_speaking=1) as scheduler:
        first = asyncio.ensure_future(anext(speak(scheduler.listener(), UNIT)))
        await settle()
        with pytest.raises(CapacityError):
            await anext(speak(scheduler.listener(), UNIT))
        engine.open()
        assert (await first).data
