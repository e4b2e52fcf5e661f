import asyncio
from functools import partial

import pytest
from tests.scheduling.driving import Reader, by_hand, scheduling, settle, until

from antiphon.engines.contract import SpeechUnit
from antiphon.engines.tone import ToneEngine, tone_pcm
from antiphon.scheduling import Pace
from antiphon.testing.engines import GatedEngine

pytestmark = pytest.mark.anyio

LONG = "This sentence is long enough for every bound, and a little longer than that."  # 4.56 s
SHORT = "Two."  # 0.24 s
LEAD = Pace("listener", max_lead_s=0.5)


def seconds(reader: Reader) -> float:
    return sum(chunk.duration_s for chunk in reader.take_all())


async def test_units_are_synthesised_in_the_order_of_submission() -> None:
    async with scheduling(ToneEngine()) as scheduler:
        listener = scheduler.listener(Pace(max_buffer_s=100))
        readers = [Reader(listener, text) for text in ("First of all.", "Then this.", "And that.")]
        for reader in readers:
            assert await reader.read() == tone_pcm(reader.job.unit.text)
        starts = [reader.job.first_chunk_at_s for reader in readers]
        assert None not in starts
        assert starts == sorted(starts)  # type: ignore[type-var]  # none of them is None
        assert not listener.speaking


@pytest.mark.parametrize("pace", [Pace("asap", max_buffer_s=1), Pace("listener", max_lead_s=50, max_buffer_s=1)])
async def test_a_reader_that_never_takes_stops_synthesis_at_the_buffer_bound(pace: Pace) -> None:
    async with scheduling(ToneEngine(chunk_ms=80)) as scheduler:
        clock = by_hand(scheduler)
        reader = Reader(scheduler.listener(pace), LONG)
        await clock.advance(60)
        assert 1 <= reader.job.buffered_s < 1.08
        assert clock.armed == []
        steps = scheduler.statistics().steps
        assert reader.job.take() is not None
        await clock.advance(60)
        assert scheduler.statistics().steps == steps + 1


async def test_the_lead_stays_at_its_bound_while_the_reader_takes_everything() -> None:
    async with scheduling(ToneEngine(chunk_ms=80)) as scheduler:
        clock = by_hand(scheduler)
        reader = Reader(scheduler.listener(LEAD), LONG)
        delivered, begun = 0.0, clock.now
        while clock.now < begun + 4:
            await settle()
            while step := seconds(reader):
                delivered += step
                await settle()
            # Never starved, and never ahead by more than the bound and one step's audio.
            assert 0.4 <= delivered - (clock.now - begun) <= 0.5 + 0.08
            await clock.advance(0.02)


async def test_as_soon_as_possible_does_not_wait_for_playback() -> None:
    async with scheduling(ToneEngine()) as scheduler:
        by_hand(scheduler)
        reader = Reader(scheduler.listener(Pace("asap")), LONG)
        assert await reader.read() == tone_pcm(LONG)


async def test_a_unit_that_is_not_paced_does_not_hold_back_those_that_are() -> None:
    async with scheduling(ToneEngine()) as scheduler:
        clock = by_hand(scheduler)
        listener = scheduler.listener(LEAD)
        ready = asyncio.Event()
        job = listener.submit(SpeechUnit(LONG), ready.set, Pace("asap"))
        pcm = b""
        while not job.finished:
            await settle()
            pcm += b"".join(chunk.data for chunk in iter(job.take, None))
        assert pcm == tone_pcm(LONG)
        paced = Reader(listener, LONG)
        await settle()
        assert 0.5 <= seconds(paced) <= 0.58
        await clock.advance(0)


async def test_closing_a_unit_that_is_not_paced_gives_back_no_lead() -> None:
    async with scheduling(ToneEngine()) as scheduler:
        by_hand(scheduler)
        listener = scheduler.listener(LEAD)
        heard = Reader(listener, SHORT)
        await settle()
        assert seconds(heard) == pytest.approx(0.24)
        ready = asyncio.Event()
        file = listener.submit(SpeechUnit(LONG), ready.set, Pace("asap"))
        await settle()
        assert file.take() is not None
        file.close()
        paced = Reader(listener, LONG)
        await settle()
        assert 0.26 <= seconds(paced) <= 0.34


async def test_a_file_that_waits_for_its_reader_is_no_lead_of_the_stream_behind_it() -> None:
    async with scheduling(ToneEngine()) as scheduler:
        by_hand(scheduler)
        listener = scheduler.listener(LEAD)
        ready = asyncio.Event()
        listener.submit(SpeechUnit("x" * 20), ready.set, Pace("asap"))  # 1.2 s
        paced = Reader(listener, LONG)
        await settle()
        assert 0.5 <= paced.job.buffered_s <= 0.58


async def test_exactly_one_unit_is_prefetched_once_the_one_before_is_synthesised() -> None:
    engine = GatedEngine(chunk_ms=500)
    async with scheduling(engine, workers=4) as scheduler:
        listener = scheduler.listener(Pace(max_buffer_s=100))
        first, second, third = (Reader(listener, "Twenty chars of text") for _ in range(3))  # 1.2 s: 3 steps each
        for step in (1, 2, 3):
            await until(partial(engine.wait_started, step, 0))
            await settle()
            assert engine.steps_started == step  # nothing of the second beside it
            assert second.job.buffered_s == 0
            engine.release()
        # All of the first is there, whether it was taken or not: the prefetch begins.
        await until(lambda: engine.steps_started == 4)
        assert first.job.buffered_s == pytest.approx(1.2)
        engine.open()
        await until(lambda: second.job.buffered_s > 1)
        await settle()
        assert third.job.buffered_s == 0
        assert engine.steps_started == 6
        first.take_all()
        await until(lambda: third.job.buffered_s > 1)


async def test_the_last_chunk_ends_its_unit_without_another_step() -> None:
    async with scheduling(ToneEngine(chunk_ms=400)) as scheduler:
        clock = by_hand(scheduler)
        listener = scheduler.listener(Pace("listener", max_lead_s=0.3))
        first, second = Reader(listener, SHORT), Reader(listener, SHORT)
        await settle()
        assert seconds(first) == pytest.approx(0.24)
        assert first.job.finished
        assert scheduler.statistics().steps == 2  # the second of which is the prefetch
        assert seconds(second) == pytest.approx(0.24)
        assert second.job.finished
        assert clock.armed == []


async def test_dropped_audio_does_not_hold_back_what_is_said_after_a_barge_in() -> None:
    async with scheduling(ToneEngine(chunk_ms=100)) as scheduler:
        clock = by_hand(scheduler)
        listener = scheduler.listener(LEAD)
        finished, open_ = Reader(listener, SHORT), Reader(listener, LONG)
        await settle()
        seconds(finished)
        await settle()
        seconds(open_)
        await settle()
        assert clock.armed  # at its bound
        listener.close()
        assert clock.armed == []
        after = Reader(listener, LONG)
        await settle()
        assert seconds(after) >= 0.5


async def test_closing_one_job_gives_back_the_lead_of_its_own_audio_only() -> None:
    async with scheduling(ToneEngine(chunk_ms=100)) as scheduler:
        clock = by_hand(scheduler)
        listener = scheduler.listener(LEAD)
        first, second = Reader(listener, SHORT), Reader(listener, LONG)
        await settle()
        played = seconds(first)
        await settle()
        assert seconds(second) + played == pytest.approx(0.54, abs=0.07)
        third = Reader(listener, LONG)
        second.job.close()
        await settle()
        assert seconds(third) + played == pytest.approx(0.54, abs=0.07)
        await clock.advance(0)


async def test_an_alarm_moves_forward_when_audio_ahead_of_it_is_dropped() -> None:
    async with scheduling(ToneEngine(chunk_ms=100)) as scheduler:
        clock = by_hand(scheduler)
        listener = scheduler.listener(Pace("listener", max_lead_s=0.5, max_buffer_s=100))
        far_ahead = Pace("listener", max_lead_s=100, max_buffer_s=100)
        ready = asyncio.Event()
        heard, dropped = (listener.submit(SpeechUnit("x" * 20), ready.set, far_ahead) for _ in range(2))  # 1.2 s each
        await settle()
        while heard.take():
            pass
        paced = Reader(listener, LONG)
        await settle()
        assert clock.armed == [pytest.approx(1.2 + 1.2 - 0.5, abs=0.011)]
        dropped.close()
        assert clock.armed == [pytest.approx(1.2 - 0.5, abs=0.011)]
        await clock.advance(0.8)
        assert paced.take_all()


async def test_a_job_closed_in_the_middle_is_passed_over() -> None:
    async with scheduling(ToneEngine()) as scheduler:
        listener = scheduler.listener(Pace(max_buffer_s=100))
        first, second, third = (Reader(listener, text) for text in ("One.", "Two.", "Three."))
        second.job.close()
        assert await first.read() == tone_pcm("One.")
        assert await second.read() == b""
        assert await third.read() == tone_pcm("Three.")


async def test_a_listener_may_be_closed_twice_and_before_it_spoke() -> None:
    async with scheduling(ToneEngine()) as scheduler:
        listener = scheduler.listener()
        listener.close()
        reader = Reader(listener, SHORT)
        listener.close()
        listener.close()
        assert reader.job.finished
        assert scheduler.statistics().units_closed == 1
        assert scheduler.statistics().speaking == 0


async def test_tens_of_thousands_of_waiting_units_cost_a_reader_nothing() -> None:
    async with scheduling(ToneEngine()) as scheduler:
        listener = scheduler.listener(Pace(max_buffer_s=1))
        readers = [Reader(listener, "Hm.") for _ in range(20_000)]
        for reader in readers[:200]:
            assert await reader.read() == tone_pcm("Hm.")
        listener.close()
        assert scheduler.statistics().units_closed + scheduler.statistics().units_complete == 20_000
        assert scheduler.statistics().ready == 0
