"""Units that do not come to their end: closed, failed or refused."""

import asyncio
import threading
from collections.abc import Iterator

import pytest
from tests.scheduling.driving import Reader, scheduling, settle, until

from antiphon.audio.pcm import PcmChunk
from antiphon.engines.contract import EngineError, EngineLostError, SpeechUnit, Synthesis
from antiphon.engines.tone import ToneEngine, tone_pcm
from antiphon.scheduling import Pace, Scheduler, steppers
from antiphon.testing.engines import FailingEngine, GatedEngine

pytestmark = pytest.mark.anyio

TEXT = "Five steps of eighty ms."  # 1.44 s: 18 steps
AT_ONCE = Pace(max_buffer_s=100)


async def test_a_unit_closed_before_its_first_step_has_none() -> None:
    engine = GatedEngine()
    async with scheduling(engine) as scheduler:
        reader = Reader(scheduler.listener(), TEXT)
        reader.job.close()
        await settle()
        assert engine.steps_started == 0
        assert reader.job.finished
        assert scheduler.statistics().speaking == 0


async def test_a_unit_closed_while_it_waits_for_a_worker_has_no_step_and_leaves_the_queue() -> None:
    engine = GatedEngine()
    async with scheduling(engine, workers=1) as scheduler:
        Reader(scheduler.listener(), TEXT)
        await until(lambda: engine.steps_started == 1)
        for _ in range(100):
            waiting = Reader(scheduler.listener(), TEXT)
            await settle()
            assert scheduler.statistics().ready == 1
            waiting.job.close()
            assert scheduler.statistics().ready == 0
        engine.release()
        await until(lambda: engine.steps_started == 2)  # the first one's second


async def test_closing_while_a_step_runs_ends_it_and_drops_its_result() -> None:
    engine = GatedEngine()
    async with scheduling(engine, workers=1) as scheduler:
        reader = Reader(scheduler.listener(), TEXT)
        await until(lambda: engine.steps_started == 1)
        reader.job.close()
        await until(lambda: scheduler.statistics().stepping == 0)
        assert engine.steps_started == 1
        assert reader.take_all() == []
        assert scheduler.statistics().audio_s == 0
        assert scheduler.statistics().units_closed == 1


async def test_a_late_result_that_the_engine_gives_all_the_same_is_dropped() -> None:
    engine = GatedEngine()
    engine.synthesize = DeafToClose(engine)  # type: ignore[method-assign]
    async with scheduling(engine, workers=1) as scheduler:
        reader = Reader(scheduler.listener(), TEXT)
        await until(lambda: engine.steps_started == 1)
        reader.job.close()
        engine.open()
        await until(lambda: scheduler.statistics().stepping == 0)
        await settle()
        assert reader.take_all() == []
        assert scheduler.statistics().audio_s == 0
        assert engine.steps_started == 1


class DeafToClose:
    """Begins units whose running step does not notice that it was closed."""

    def __init__(self, engine: GatedEngine) -> None:
        self._engine = engine

    def __call__(self, unit: SpeechUnit) -> Synthesis:
        synthesis = ToneEngine().synthesize(unit)
        engine = self._engine

        class Late:
            exhausted = False

            def __iter__(self) -> Iterator[PcmChunk]:
                return self

            def __next__(self) -> PcmChunk:
                engine.before_step(0, threading.Event())
                return next(synthesis)

            def close(self) -> None:
                pass

        return Late()


def test_a_step_that_does_not_end_does_not_hold_up_the_end(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(steppers, "CLOSE_TIMEOUT_S", 0.05)
    engine = GatedEngine()
    engine.synthesize = DeafToClose(engine)  # type: ignore[method-assign]

    async def speak_and_end() -> None:
        scheduler = Scheduler(engine, workers=2)
        Reader(scheduler.listener(), TEXT)
        await until(lambda: engine.steps_started == 1)
        async with asyncio.timeout(2):
            await scheduler.close()

    asyncio.run(speak_and_end())
    assert "1 steps did not end within 0.05 s" in caplog.text
    (stuck,) = (thread for thread in threading.enumerate() if thread.name.startswith("antiphon-step"))
    assert stuck.daemon
    engine.open()
    # It finds nobody to tell, and ends quietly.
    stuck.join(5)
    assert not stuck.is_alive()


async def test_closing_after_the_last_chunk_was_taken_changes_nothing() -> None:
    async with scheduling(ToneEngine()) as scheduler:
        reader = Reader(scheduler.listener(), TEXT)
        await reader.read()
        reader.job.close()
        reader.job.close()
        numbers = scheduler.statistics()
        assert (numbers.units_complete, numbers.units_closed) == (1, 0)
        assert reader.job.error is None


async def test_a_reader_learns_that_somebody_else_closed_its_job() -> None:
    engine = GatedEngine()
    async with scheduling(engine) as scheduler:
        listener = scheduler.listener()
        reader = Reader(listener, TEXT)
        await until(lambda: engine.steps_started == 1)
        listener.close()
        await reader.until_ready()
        assert reader.job.finished
        assert isinstance(reader.job.error, EngineError)


class Panic(BaseException):
    """As extension modules raise it."""


@pytest.mark.parametrize(
    "error",
    [EngineError("no"), ValueError("bug"), MemoryError(), SystemExit(1), Panic(), asyncio.CancelledError()],
    ids=lambda error: type(error).__name__,
)
@pytest.mark.parametrize("fail_at", [0, 2])
async def test_whatever_an_engine_raises_ends_its_unit_only(error: BaseException, fail_at: int) -> None:
    engine = FailingEngine(fail_at, error)  # type: ignore[arg-type]  # more than its type allows
    async with scheduling(engine, workers=1) as scheduler:
        listener = scheduler.listener(AT_ONCE)
        first, second = Reader(listener, TEXT), Reader(listener, TEXT)
        assert await first.read() == tone_pcm(TEXT, 0, fail_at * 1920)
        assert isinstance(first.job.error, Exception)
        await second.read()
        assert second.job.error is not None
        numbers = scheduler.statistics()
        assert (numbers.units_failed, numbers.speaking, numbers.stepping) == (2, 0, 0)


async def test_an_engine_that_is_lost_is_remembered() -> None:
    engine = FailingEngine(1)
    async with scheduling(engine, workers=1) as scheduler:
        await Reader(scheduler.listener(), TEXT).read()
        assert scheduler.lost is None
        engine._error = EngineLostError("the worker died")
        await Reader(scheduler.listener(), TEXT).read()
        assert scheduler.lost is engine._error


async def test_an_engine_on_the_loop_may_raise_anything_too() -> None:
    engine = FailingEngine(1, SystemExit(1))  # type: ignore[arg-type]  # more than its type allows
    engine.info = ToneEngine().info
    async with scheduling(engine) as scheduler:
        reader = Reader(scheduler.listener(), TEXT)
        await reader.read()
        assert str(reader.job.error) == "the engine stopped with SystemExit"


async def test_a_unit_that_is_refused_fails() -> None:
    async with scheduling(ToneEngine()) as scheduler:
        reader = Reader(scheduler.listener(), TEXT, voice="nobody")
        assert await reader.read() == b""
        assert "Invalid voice 'nobody'" in str(reader.job.error)


async def test_an_engine_whose_close_raises_gives_back_its_place() -> None:
    class Stubborn(GatedEngine):
        def after_close(self) -> None:
            super().after_close()
            raise RuntimeError("cannot close")

    engine = Stubborn()
    async with scheduling(engine, max_speaking=1) as scheduler:
        reader = Reader(scheduler.listener(), TEXT)
        await until(lambda: engine.steps_started == 1)
        reader.job.close()
        assert scheduler.statistics().speaking == 0
