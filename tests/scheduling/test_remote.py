import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress

import pytest
from tests.scheduling.driving import Reader, scheduling, settle

from antiphon.audio.pcm import PcmChunk
from antiphon.engines.contract import EngineError, EngineInfo, SpeechUnit
from antiphon.engines.tone import ToneEngine, tone_pcm
from antiphon.scheduling import Pace, remote, steppers

pytestmark = pytest.mark.anyio

TEXT = "Spoken far away."


class RemoteTone:
    """The tone at the other end of a connection; each chunk waits for a permit."""

    def __init__(self, *, permits: int = 1_000_000, fail_at: int | None = None) -> None:
        self.info: EngineInfo = ToneEngine().info
        self.permits = asyncio.Semaphore(permits)
        self.fail_at = fail_at
        self.begun = self.chunks = self.cancelled = self.ended = 0
        self.stuck_closing = False

    async def load(self) -> None:
        pass

    def check(self, unit: SpeechUnit) -> None:
        pass

    async def synthesize(self, unit: SpeechUnit) -> AsyncIterator[PcmChunk]:
        self.begun += 1
        try:
            for index, chunk in enumerate(ToneEngine().synthesize(unit)):
                if index == self.fail_at:
                    raise EngineError("the line is dead")
                await self.permits.acquire()
                self.chunks += 1
                yield chunk
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            if self.stuck_closing:
                await asyncio.sleep(60)
            self.ended += 1


async def test_a_stream_is_spoken() -> None:
    engine = RemoteTone()
    async with scheduling(engine) as scheduler:
        assert await Reader(scheduler.listener(), TEXT).read() == tone_pcm(TEXT)
        assert (engine.begun, engine.ended) == (1, 1)


async def test_a_stream_is_not_pulled_beyond_the_buffer_bound() -> None:
    engine = RemoteTone()
    async with scheduling(engine) as scheduler:
        Reader(scheduler.listener(Pace(max_buffer_s=0.3)), TEXT)
        for _ in range(20):
            await settle()
        assert engine.chunks == 4


async def test_closing_while_a_chunk_is_awaited_cancels_at_the_source() -> None:
    engine = RemoteTone(permits=1)
    async with scheduling(engine) as scheduler:
        reader = Reader(scheduler.listener(), TEXT)
        await settle()
        assert engine.chunks == 1
        reader.job.close()
        await settle()
        assert (engine.cancelled, engine.ended) == (1, 1)
        assert reader.take_all() == []
        assert scheduler.statistics().stepping == 0


async def test_closing_between_two_chunks_closes_the_source() -> None:
    engine = RemoteTone()
    async with scheduling(engine) as scheduler:
        reader = Reader(scheduler.listener(Pace(max_buffer_s=0.1)), TEXT)
        await settle()
        assert scheduler.statistics().stepping == 0
        reader.job.close()
        await settle()
        assert (engine.cancelled, engine.ended) == (0, 1)


async def test_a_unit_closed_before_its_stream_begins_never_begins() -> None:
    engine = RemoteTone()
    async with scheduling(engine) as scheduler:
        reader = Reader(scheduler.listener(), TEXT)
        scheduler._dispatch()
        assert scheduler.statistics().stepping == 1
        reader.job.close()
        await settle()
        assert engine.begun == 0
        assert scheduler.statistics().stepping == 0


async def test_a_stream_that_fails_ends_its_unit_only() -> None:
    engine = RemoteTone(fail_at=1)
    async with scheduling(engine) as scheduler:
        reader = Reader(scheduler.listener(), TEXT)
        assert await reader.read() == tone_pcm(TEXT, 0, 1920)
        assert str(reader.job.error) == "the line is dead"
        engine.fail_at = None
        assert await Reader(scheduler.listener(), TEXT).read() == tone_pcm(TEXT)


async def test_many_streams_wait_at_once() -> None:
    engine = RemoteTone(permits=0)
    async with scheduling(engine, workers=1, max_speaking=100) as scheduler:
        readers = [Reader(scheduler.listener(), TEXT) for _ in range(100)]
        for _ in range(5):
            await settle()
        assert scheduler.statistics().stepping == 100
        for _ in range(10_000):
            engine.permits.release()
        assert await asyncio.gather(*(reader.read() for reader in readers)) == [tone_pcm(TEXT)] * 100


async def test_a_source_that_cannot_be_closed_is_given_up_and_that_is_said(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(remote, "CLOSE_TIMEOUT_S", 0.05)
    engine = RemoteTone()
    engine.stuck_closing = True
    async with scheduling(engine) as scheduler:
        reader = Reader(scheduler.listener(Pace(max_buffer_s=0.1)), TEXT)
        await settle()
        reader.job.close()
        async with asyncio.timeout(2):
            await scheduler.close()
    assert engine.ended == 0
    assert "a stream could not be closed at its source: TimeoutError" in caplog.text


async def test_a_stream_that_will_not_be_cancelled_does_not_hold_up_the_end(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    let_go = asyncio.Event()

    class Deaf(RemoteTone):
        async def synthesize(self, unit: SpeechUnit) -> AsyncIterator[PcmChunk]:
            while not let_go.is_set():
                with suppress(asyncio.CancelledError):
                    await let_go.wait()
            yield PcmChunk(tone_pcm(unit.text), 24_000)

    monkeypatch.setattr(steppers, "CLOSE_TIMEOUT_S", 0.05)
    async with scheduling(Deaf()) as scheduler:
        Reader(scheduler.listener(), TEXT)
        await settle()
        async with asyncio.timeout(2):
            await scheduler.close()
        assert "1 steps did not end within 0.05 s" in caplog.text
        let_go.set()


async def test_close_waits_until_every_source_was_told() -> None:
    engine = RemoteTone(permits=0)
    async with scheduling(engine) as scheduler:
        for _ in range(3):
            Reader(scheduler.listener(), TEXT)
        await settle()
    assert engine.cancelled == engine.ended == 3
