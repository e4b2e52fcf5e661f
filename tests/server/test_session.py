import asyncio
import json
from io import BytesIO
from typing import Any

import pytest
import soundfile
from tests.scheduling.driving import by_hand, settle
from tests.server.driving import (
    CLOSE,
    DONE,
    STREAMED,
    MemoryConnection,
    application,
    config,
    opened,
    session,
    shut,
    text,
    until,
)

from antiphon.engines.contract import EngineError, EngineLostError
from antiphon.engines.tone import ToneEngine, tone_pcm
from antiphon.protocol import SpeechSession
from antiphon.protocol.closing import CloseCause
from antiphon.server import units
from antiphon.server.session import OUTCOMES
from antiphon.server.state import ServerState
from antiphon.server.stream import serve_session
from antiphon.testing.engines import FailingEngine, GatedEngine

pytestmark = pytest.mark.anyio

SENTENCE = "A sentence of some length, for a test."
IN_SENTENCES = config(**STREAMED, split_granularity="sentence")


async def test_text_becomes_audio_while_it_is_still_arriving() -> None:
    connection = MemoryConnection()
    async with application() as app, session(app.state, connection) as running:
        connection.say(IN_SENTENCES, text("One here. Tw"))
        await connection.until("audio.done")
        assert connection.audio == tone_pcm("One here.")
        connection.say(text("o now."), DONE, CLOSE)
        await running
    assert [kind for kind in connection.types if kind != "audio"] == [
        *["audio.start", "audio.done"] * 2,
        "session.done",
    ]
    assert connection.audio == tone_pcm("One here.") + tone_pcm("Two now.")
    assert connection.closed == (1000, "session.close")


@pytest.mark.parametrize("file_format", ["wav", "flac", "mp3", "opus", "pcm"])
async def test_a_whole_file_is_one_frame(file_format: str) -> None:
    connection = MemoryConnection().say(config(response_format=file_format), text(SENTENCE), DONE, CLOSE)
    async with application() as app, session(app.state, connection) as running:
        await running
    assert connection.types == ["audio.start", "audio", "audio.done", "session.done"]
    if file_format == "pcm":
        assert connection.audio == tone_pcm(SENTENCE)
        return
    samples, sample_rate = soundfile.read(BytesIO(connection.audio), dtype="int16")
    assert sample_rate == 24_000
    assert len(samples) == pytest.approx(len(tone_pcm(SENTENCE)) // 2, rel=0.05)


async def test_a_frame_is_as_long_as_the_setting_says_whatever_the_engine_gives() -> None:
    connection = MemoryConnection().say(config(**STREAMED), text(SENTENCE), DONE, CLOSE)
    async with application(ToneEngine(chunk_ms=500), chunk_ms=60) as app, session(app.state, connection) as running:
        await running
    sizes = [len(message) for message in connection.sent if isinstance(message, bytes)]
    assert max(sizes) == 60 * 24 * 2
    assert connection.audio == tone_pcm(SENTENCE)


async def test_a_whole_file_is_not_paced() -> None:
    connection = MemoryConnection().say(config(response_format="pcm"), text(SENTENCE * 3), DONE, CLOSE)
    async with application(pace="listener", max_lead_ms=100) as app, session(app.state, connection) as running:
        async with asyncio.timeout(2):  # of 6.8 s
            await running
    assert connection.audio == tone_pcm(SENTENCE * 3)


async def test_the_servers_pace_holds_for_streams() -> None:
    connection = MemoryConnection()
    async with application(pace="listener", max_lead_ms=205) as app, session(app.state, connection):
        await settle()  # the session has begun, by the loop's own clock
        clock = by_hand(app.state.speaker.scheduler)
        connection.say(config(**STREAMED), text(SENTENCE), DONE)  # 2.28 s
        for played_s in (0.0, 0.5, 1.0, 1.5):
            await settle()
            # Never less than the lead, of which an alarm may take 10 ms, and never more than it and one step of 80 ms.
            assert 0.195 <= len(connection.audio) / 48_000 - played_s <= 0.285
            await clock.advance(0.5)


async def test_an_engine_that_fails_ends_its_unit_and_not_the_session() -> None:
    engine = FailingEngine(99)
    connection = MemoryConnection().say(config(**STREAMED), text(SENTENCE), DONE)
    async with application(engine) as app, session(app.state, connection):
        await connection.until("session.done")
        engine._fail_at = 1
        connection.say(text(SENTENCE), DONE)
        await connection.until("session.done", 2)
        engine._fail_at = 99
        connection.say(text(SENTENCE), DONE)
        await connection.until("session.done", 3)
    assert connection.errors == ["Generation failed for utterance 1, sentence 0: the fake engine fails here"]
    assert connection.audio == tone_pcm(SENTENCE) + tone_pcm(SENTENCE, 0, 1920) + tone_pcm(SENTENCE)


async def test_a_lost_engine_ends_the_session_and_the_server_says_so() -> None:
    engine = FailingEngine(99)
    connection = MemoryConnection()
    async with application(engine) as app, session(app.state, connection) as running:
        engine._fail_at, engine._error = 1, EngineLostError("the worker died")
        assert (await app.http.get("/ping")).status_code == 200
        connection.say(config(**STREAMED), text(SENTENCE), DONE, text(SENTENCE), DONE)
        await running
        assert (await app.http.get("/ping")).status_code == 503
        assert (await app.http.get("/health")).json()["reason"] == "the worker died"
        assert (await app.speak(input="Hm.")).status_code == 503
    assert connection.errors == ["Generation failed for utterance 0, sentence 0: the worker died"]
    assert connection.types == ["audio.start", "audio", "error", "audio.done"]
    assert connection.closed == (1011, "synthesis is not possible")


async def test_the_words_of_an_unexpected_exception_stay_inside(caplog: pytest.LogCaptureFixture) -> None:
    engine = FailingEngine(99, ValueError(f"cannot say {SENTENCE}"))
    connection = MemoryConnection().say(config(**STREAMED), text(SENTENCE), DONE)
    async with application(engine) as app, session(app.state, connection):
        engine._fail_at = 0
        await connection.until("session.done")
    assert connection.errors == ["Generation failed for utterance 0, sentence 0: internal error"]
    assert "ValueError" in repr([vars(record) for record in caplog.records])
    assert SENTENCE not in repr([vars(record) for record in caplog.records])


async def test_at_capacity_a_unit_fails_and_the_session_lives_on() -> None:
    engine = opened(GatedEngine())
    first, second = MemoryConnection(), MemoryConnection()
    async with application(engine, max_speaking=1) as app, session(app.state, first), session(app.state, second):
        shut(engine)
        first.say(config(**STREAMED), text(SENTENCE), DONE)
        await first.until("audio.start")
        second.say(config(**STREAMED), text(SENTENCE), DONE)
        await second.until("session.done")
        assert "1 listeners are speaking" in second.errors[0]
        assert second.sent[-2] == {
            "type": "audio.done",
            "utterance_index": 0,
            "sentence_index": 0,
            "total_bytes": 0,
            "error": True,
        }
        engine.open()
        await first.until("session.done")
        second.say(text(SENTENCE), DONE)
        await second.until("session.done", 2)
        assert second.audio == tone_pcm(SENTENCE)


@pytest.mark.parametrize("error", [EngineError("no such codec"), RuntimeError("bug")])
async def test_a_file_that_cannot_be_encoded_fails_its_unit(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    async def encode(self: units.WholeFile) -> bytes:
        raise error

    monkeypatch.setattr(units.WholeFile, "encode", encode)
    connection = MemoryConnection().say(config(), text(SENTENCE), DONE, CLOSE)
    async with application() as app, session(app.state, connection) as running:
        await running
    assert connection.types == ["audio.start", "error", "audio.done", "session.done"]
    assert ("no such codec" in connection.errors[0]) == isinstance(error, EngineError)
    assert "bug" not in connection.errors[0]


async def test_a_file_has_a_longest_length(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(units, "MAX_FILE_S", 1)
    connection = MemoryConnection().say(config(), text(SENTENCE), DONE, text("Short."), DONE, CLOSE)
    async with application() as app, session(app.state, connection) as running:
        await running
        assert app.state.speaker.scheduler.statistics().units_closed == 1
    assert "the audio is longer than 1 s" in connection.errors[0]
    assert connection.types == ["audio.start", "error", "audio.done", "session.done", *FILE]


FILE = ["audio.start", "audio", "audio.done", "session.done"]


@pytest.mark.parametrize(
    ("before", "code", "reason"),
    [
        ([], 1008, "timeout waiting for session.config"),
        ([config()], 1001, "idle timeout"),
        ([config(), text("Hm."), DONE], 1001, "idle timeout"),
    ],
)
async def test_timeouts_close_with_code_and_reason(before: list[dict[str, Any]], code: int, reason: str) -> None:
    connection = MemoryConnection().say(*before)
    short: dict[str, Any] = {"config_timeout_s": 0.05, "idle_timeout_s": 0.05}
    async with application(**short) as app, session(app.state, connection) as running:
        await asyncio.wait_for(running, 5)
    assert connection.closed == (code, reason)
    assert len(connection.errors) == 1


async def test_the_idle_timer_does_not_run_while_something_is_spoken() -> None:
    engine = opened(GatedEngine())
    connection = MemoryConnection()
    async with application(engine, idle_timeout_s=0.1) as app, session(app.state, connection) as running:
        shut(engine)
        connection.say(config(**STREAMED), text("Hm."), DONE)
        await until(lambda: engine.steps_started == 1)
        await asyncio.sleep(0.3)
        assert not running.done()
        engine.open()
        async with asyncio.timeout(5):
            await running
    assert connection.types[-1] == "error"
    assert connection.closed == (1001, "idle timeout")


async def test_the_idle_timer_does_not_run_before_the_client_has_taken_its_file() -> None:
    engine = opened(GatedEngine())
    connection = MemoryConnection()
    clock = asyncio.get_running_loop().time
    async with application(engine, idle_timeout_s=0.2) as app, session(app.state, connection) as running:
        shut(engine)
        connection.say(config(response_format="wav"), text("Hm."), DONE)
        await connection.until("audio.start")
        connection.takes.clear()
        engine.open()
        await asyncio.sleep(0.4)
        taken_at = clock()
        connection.takes.set()
        async with asyncio.timeout(5):
            await running
        assert clock() - taken_at >= 0.2
    assert connection.types == [*FILE, "error"]
    assert connection.closed == (1001, "idle timeout")


class Broken(SpeechSession):
    """A machine with a fault."""

    def receive(self, event: Any, now: float) -> Any:
        if type(event).__name__ == self.breaks_at:
            raise KeyError(SENTENCE)
        return super().receive(event, now)

    breaks_at = ""


@pytest.mark.parametrize("where", ["Received", "AudioChunk", "TimePassed", "Shutdown"])
async def test_a_fault_of_ours_closes_with_1011_wherever_it_is(
    where: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("antiphon.server.stream.SpeechSession", type("Faulty", (Broken,), {"breaks_at": where}))
    connection, other = MemoryConnection(), MemoryConnection()
    async with application(config_timeout_s=0.5, idle_timeout_s=0.1) as app, session(app.state, connection) as running:
        connection.say(config(**STREAMED), text(SENTENCE), DONE)
        if where == "Shutdown":
            await connection.until("session.done")
            next(iter(app.state.sessions)).shut_down()
        async with asyncio.timeout(5):
            await running
        assert app.state.speaker.scheduler.statistics().speaking == 0
        assert app.state.sessions == set()
        monkeypatch.undo()
        async with session(app.state, other):
            other.say(config(**STREAMED), text(SENTENCE), DONE)
            await other.until("session.done")
    assert connection.closed == (1011, "internal error")
    assert "KeyError" in repr([vars(record) for record in caplog.records])
    assert SENTENCE not in repr([vars(record) for record in caplog.records])


async def test_cancelling_a_session_leaves_nothing_behind() -> None:
    engine = opened(GatedEngine())
    connection = MemoryConnection()
    async with application(engine) as app:
        shut(engine)
        before = asyncio.all_tasks()
        running = asyncio.create_task(serve_session(app.state, connection))
        connection.say(config(**STREAMED), text(SENTENCE), DONE)
        await until(lambda: engine.steps_started == 1)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert asyncio.all_tasks() == before
        assert app.state.speaker.scheduler.statistics().speaking == 0
        assert app.state.sessions == set()


async def test_a_session_leaves_no_timer_behind() -> None:
    connection = MemoryConnection().say(config(**STREAMED), text(SENTENCE), DONE, CLOSE)
    async with application() as app, session(app.state, connection) as running:
        await running
        loop: Any = asyncio.get_running_loop()
        assert [handle for handle in loop._scheduled if not handle.cancelled() and "Session" in repr(handle)] == []


async def test_messages_are_sent_as_json_without_spaces() -> None:
    raw: list[str] = []

    class Raw(MemoryConnection):
        async def send(self, data: str | bytes) -> None:
            if isinstance(data, str):
                raw.append(data)

    connection = Raw().say(config(**STREAMED), text("é"), DONE, CLOSE)
    async with application() as app, session(app.state, connection) as running:
        await running
    assert '"sentence_text":"é"' in raw[0]
    assert raw == [json.dumps(json.loads(sent), ensure_ascii=False, separators=(",", ":")) for sent in raw]


def test_every_close_has_an_outcome() -> None:
    assert {cause.code for cause in CloseCause} == set(OUTCOMES)


def outcomes(state: ServerState) -> dict[str, float]:
    (family,) = state.metrics.sessions_total.collect()
    return {s.labels["outcome"]: s.value for s in family.samples if s.name.endswith("_total")}


@pytest.mark.parametrize(
    ("said", "outcome"),
    [
        ([config(), CLOSE], "served"),
        (["no config"], "refused"),
        ([config(), b"binary"], "refused"),
    ],
)
async def test_a_session_that_the_server_ends_is_counted_by_why(said: list[Any], outcome: str) -> None:
    connection = MemoryConnection().say(*said)
    async with application() as app, session(app.state, connection) as running:
        await running
        assert outcomes(app.state) == {outcome: 1}


async def test_a_client_that_leaves_is_served_if_it_has_all_and_lost_if_not() -> None:
    async with application() as app:
        connection = MemoryConnection().say(config(**STREAMED), text(SENTENCE), DONE)
        async with session(app.state, connection):
            await connection.until("session.done")
            await settle()
        assert outcomes(app.state) == {"served": 1}
    engine = opened(GatedEngine())
    async with application(engine) as app:
        shut(engine)
        async with session(app.state, MemoryConnection().say(config(**STREAMED), text(SENTENCE), DONE)):
            await until(lambda: engine.steps_started == 1)
        assert outcomes(app.state) == {"lost": 1}
        engine.open()
    async with application() as app:
        connection = MemoryConnection().say(config(**STREAMED), text(SENTENCE), DONE, CLOSE)
        connection.takes.clear()
        async with session(app.state, connection):
            await settle()
        assert outcomes(app.state) == {"lost": 1}


async def test_what_the_server_could_not_do_is_counted_as_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = opened(GatedEngine())
    async with application(engine) as app:
        shut(engine)
        async with session(app.state, MemoryConnection().say(config(**STREAMED), text(SENTENCE), DONE)) as running:
            await until(lambda: engine.steps_started == 1)
            await app.state.drain(0.01)
            await running
        assert outcomes(app.state) == {"failed": 1}
        engine.open()
    async with application() as app:
        monkeypatch.setattr(SpeechSession, "receive", lambda *_: 1 / 0)
        async with session(app.state, MemoryConnection().say(config())) as running:
            await running
        assert outcomes(app.state) == {"failed": 1}
