import asyncio
import os
import threading
from collections.abc import Iterator

import pytest
from tests.scheduling.driving import Reader, by_hand, scheduling, settle, until

from antiphon.audio.pcm import PcmChunk
from antiphon.engines.contract import SpeechUnit, Synthesis
from antiphon.engines.tone import ToneEngine, tone_pcm
from antiphon.scheduling import CapacityError, Pace, Scheduler
from antiphon.scheduling.job import ENDED
from antiphon.scheduling.scheduler import ALARM_GRID_S, MOST_SPEAKING, admissible, usable_cores
from antiphon.testing.engines import GatedEngine, HookedEngine, SlowEngine

pytestmark = pytest.mark.anyio

TEXT = "Five steps of eighty ms."  # 1.44 s: 18 steps
AT_ONCE = Pace(max_buffer_s=100)


class OrderKeeper(HookedEngine):
    """Remembers whose step ran when."""

    def __init__(self, step_ms: float) -> None:
        super().__init__(chunk_ms=480)
        self.info = ToneEngine(step_delay_ms=step_ms).info
        self.order: list[str] = []

    def synthesize(self, unit: SpeechUnit) -> Synthesis:
        keeper, synthesis = self, super().synthesize(unit)

        class Kept:
            exhausted = property(lambda _: synthesis.exhausted)

            def __iter__(self) -> Iterator[PcmChunk]:
                return self

            def __next__(self) -> PcmChunk:
                keeper.order.append(unit.text[0])
                return next(synthesis)

            def close(self) -> None:
                synthesis.close()

        return Kept()


@pytest.mark.parametrize("step_ms", [0.0, 1.0], ids=["on the loop", "on a thread"])
async def test_listeners_take_turns_step_by_step_in_the_order_they_came(step_ms: float) -> None:
    engine = OrderKeeper(step_ms)
    async with scheduling(engine, workers=1) as scheduler:
        readers = [Reader(scheduler.listener(AT_ONCE), name + TEXT[1:]) for name in "abc"]  # 3 steps each
        pcm = await asyncio.gather(*(reader.read() for reader in readers))
        assert "".join(engine.order) == "abcabcabc"
        assert pcm == [tone_pcm(reader.job.unit.text) for reader in readers]


@pytest.mark.parametrize("step_ms", [0.0, 1.0], ids=["on the loop", "on a thread"])
async def test_who_runs_dry_first_is_served_first(step_ms: float) -> None:
    engine = OrderKeeper(step_ms)
    async with scheduling(engine, workers=1) as scheduler:
        ahead = Reader(scheduler.listener(Pace(max_buffer_s=0.9)), "a" + TEXT[1:])
        await until(lambda: ahead.job.buffered_s > 0.9)
        ahead.job.take()
        new = Reader(scheduler.listener(AT_ONCE), "b" + TEXT[1:])
        await until(lambda: new.job.state in ENDED)
        # The new one catches up with the lead of the other, and only then they take turns.
        assert "".join(engine.order) == "aabbab"


async def test_who_was_interrupted_has_no_lead() -> None:
    engine = OrderKeeper(1.0)
    async with scheduling(engine, workers=1) as scheduler:
        listener, other = scheduler.listener(AT_ONCE), scheduler.listener(Pace(max_buffer_s=0.4))
        interrupted = Reader(listener, "a" + TEXT[1:])
        ahead = Reader(other, "b" + TEXT[1:])
        await until(lambda: interrupted.job.state in ENDED)
        await until(lambda: ahead.job.buffered_s > 0.4)
        interrupted.job.close()
        ahead.job.take()
        again = Reader(listener, "c" + TEXT[1:])
        await until(lambda: again.job.state in ENDED)
        assert "".join(engine.order).endswith("cbcc")


@pytest.mark.parametrize("workers", [1, 3])
async def test_no_more_steps_run_at_once_than_there_are_workers(workers: int) -> None:
    engine = GatedEngine()
    async with scheduling(engine, workers=workers) as scheduler:
        for _ in range(5):
            Reader(scheduler.listener(), TEXT)
        await until(lambda: engine.steps_started == workers)
        await settle()
        numbers = scheduler.statistics()
        assert engine.steps_started == numbers.stepping == workers
        assert numbers.ready == 5 - workers


async def test_empty_chunks_are_not_delivered() -> None:
    class Hesitant(HookedEngine):
        def synthesize(self, unit: SpeechUnit) -> Synthesis:
            chunks = [b"", b"", tone_pcm(unit.text), b""]
            synthesis = iter([PcmChunk(data, 24_000) for data in chunks])

            class Chunks:
                exhausted = False

                def __iter__(self) -> Iterator[PcmChunk]:
                    return self

                def __next__(self) -> PcmChunk:
                    return next(synthesis)

                def close(self) -> None:
                    pass

            return Chunks()

    async with scheduling(Hesitant()) as scheduler:
        reader = Reader(scheduler.listener(AT_ONCE), TEXT)
        await until(lambda: scheduler.statistics().units_complete == 1)
        assert [chunk.data for chunk in reader.take_all()] == [tone_pcm(TEXT)]
        assert scheduler.statistics().steps == 5


async def test_one_more_listener_than_can_be_kept_gap_free_is_refused_until_another_is_done() -> None:
    async with scheduling(ToneEngine(), max_speaking=2) as scheduler:
        first, _second = (Reader(scheduler.listener(AT_ONCE), TEXT) for _ in range(2))
        third = scheduler.listener()
        with pytest.raises(CapacityError, match="2 listeners are speaking"):
            Reader(third, TEXT)
        await first.read()
        assert await Reader(third, TEXT).read() == tone_pcm(TEXT)
        assert scheduler.statistics().refused == 1


async def test_a_listener_that_speaks_may_say_more_at_capacity() -> None:
    async with scheduling(ToneEngine(), max_speaking=1) as scheduler:
        listener = scheduler.listener(AT_ONCE)
        readers = [Reader(listener, TEXT) for _ in range(3)]
        for reader in readers:
            await reader.read()
        assert scheduler.statistics().units_complete == 3


async def test_a_closed_listener_gives_back_its_place() -> None:
    async with scheduling(GatedEngine(), max_speaking=1) as scheduler:
        listener = scheduler.listener()
        Reader(listener, TEXT)
        listener.close()
        Reader(scheduler.listener(), TEXT)


async def test_statistics_count_what_was_done() -> None:
    async with scheduling(ToneEngine(chunk_ms=480), max_speaking=7) as scheduler:
        await Reader(scheduler.listener(), TEXT).read()
        numbers = scheduler.statistics()
        assert numbers.steps == 3
        assert numbers.audio_s == pytest.approx(1.44)
        assert 0 < numbers.synthesis_s < 1
        assert (numbers.max_speaking, numbers.speaking, numbers.ready, numbers.stepping) == (7, 0, 0, 0)
        assert (numbers.units_complete, numbers.units_failed, numbers.units_closed) == (1, 0, 0)


async def test_close_ends_what_is_spoken_and_waits_for_the_steps() -> None:
    engine = GatedEngine()
    scheduler = Scheduler(engine, workers=2)
    readers = [Reader(scheduler.listener(), TEXT) for _ in range(3)]
    await until(lambda: engine.steps_started == 2)
    await scheduler.close()
    numbers = scheduler.statistics()
    assert (numbers.stepping, numbers.speaking, numbers.units_closed) == (0, 0, 3)
    assert all(reader.job.finished for reader in readers)
    assert [thread for thread in threading.enumerate() if thread.name.startswith("antiphon-step")] == []
    with pytest.raises(CapacityError, match="shutting down"):
        Reader(scheduler.listener(), TEXT)
    await scheduler.close()


async def test_close_does_not_stop_the_loop_while_it_waits_for_a_step_that_takes_its_time() -> None:
    gate = threading.Event()

    class Deaf(HookedEngine):
        def before_step(self, index: int, closed: threading.Event) -> None:
            gate.wait(10)

    scheduler = Scheduler(Deaf(), workers=1)
    Reader(scheduler.listener(), TEXT)
    await until(lambda: scheduler.statistics().stepping == 1)
    closing = asyncio.ensure_future(scheduler.close())
    await settle()
    assert not closing.done()
    gate.set()
    async with asyncio.timeout(5):
        await closing


async def test_steps_on_the_loop_leave_it_time_for_others() -> None:
    async with scheduling(ToneEngine(chunk_ms=1)) as scheduler:
        listeners = [scheduler.listener(Pace(max_buffer_s=1000)) for _ in range(50)]
        readers = [Reader(listener, "x" * 200) for listener in listeners]  # 12,000 steps each
        turns = 0
        while scheduler.statistics().steps < 20_000:
            before = scheduler.statistics().steps
            await asyncio.sleep(0)
            assert scheduler.statistics().steps - before <= 16
            turns += 1
        assert turns >= 20_000 / 16
        assert all(reader.job.buffered_s > 0 for reader in readers)


async def test_a_slow_step_runs_beside_the_loop() -> None:
    async with scheduling(SlowEngine(0.05), workers=1) as scheduler:
        reader = Reader(scheduler.listener(), "Slow.")
        turns = 0
        while not reader.job.buffered_s:
            await asyncio.sleep(0)
            turns += 1
        assert turns > 10


async def test_nothing_is_left_behind() -> None:
    before = asyncio.all_tasks(), threading.active_count()
    async with scheduling(SlowEngine(0.001), workers=2) as scheduler:
        for number in range(50):
            reader = Reader(scheduler.listener(Pace("listener", max_lead_s=0.1)), TEXT)
            if number % 3:
                await reader.until_ready()
            reader.job.close()
    loop = asyncio.get_running_loop()
    assert (asyncio.all_tasks(), threading.active_count()) == before
    timers = [handle for handle in loop._scheduled if not handle.cancelled()]  # type: ignore[attr-defined]
    assert [timer for timer in timers if "Listener" in repr(timer)] == []


async def test_the_time_to_the_first_chunk_begins_when_a_unit_could_be_stepped() -> None:
    engine = GatedEngine()
    told: list[float] = []
    async with scheduling(engine, on_first_chunk=told.append) as scheduler:
        clock = by_hand(scheduler)
        listener = scheduler.listener(AT_ONCE)
        first, second = Reader(listener, TEXT), Reader(listener, TEXT)
        await until(lambda: engine.steps_started == 1)
        clock.now += 5
        engine.open()
        await first.read()
        await second.until_ready()
        clock.now += 7
        await second.read()
    assert told == [5.0, 0.0]


def test_admission_follows_from_the_engines_real_time_factor() -> None:
    assert admissible(rtf=0.009, cores=2) == 155
    assert admissible(rtf=5.0, cores=2) == 1
    assert admissible(rtf=0.000_001, cores=2) == MOST_SPEAKING


async def test_more_workers_than_cores_do_not_admit_more() -> None:
    engine = SlowEngine(0.001)
    async with scheduling(engine, workers=64) as many, scheduling(engine, workers=usable_cores()) as few:
        assert many.max_speaking == few.max_speaking


def test_usable_cores_are_those_that_the_process_may_use() -> None:
    assert 1 <= usable_cores() <= (os.cpu_count() or 1)


async def test_alarms_that_are_due_at_about_the_same_time_ring_together_and_none_early() -> None:
    async with scheduling(ToneEngine()) as scheduler:
        due = [100.001, 100.002, 100.0099]
        handles = [scheduler.call_at(when_s, lambda: None) for when_s in due]
        rings = {handle.when() for handle in handles}
        for handle in handles:
            handle.cancel()
    assert len(rings) == 1
    assert max(due) <= rings.pop() <= min(due) + ALARM_GRID_S
