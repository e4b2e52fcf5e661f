"""A session whose client leaves, floods, or does not take what it is sent."""

import asyncio
from typing import Any

import pytest
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

from antiphon.engines.tone import ToneEngine
from antiphon.server import units
from antiphon.server.session import BACKLOG_CHARS, BACKLOG_MESSAGES
from antiphon.testing.engines import GatedEngine

pytestmark = pytest.mark.anyio

SENTENCE = "A sentence of some length, for a test."
IN_SENTENCES = config(**STREAMED, split_granularity="sentence")


@pytest.mark.parametrize("fields", [STREAMED, {"response_format": "wav"}], ids=["streamed", "whole file"])
async def test_no_step_starts_after_a_disconnect(fields: dict[str, Any]) -> None:
    engine = opened(GatedEngine())
    connection = MemoryConnection()
    async with application(engine) as app, session(app.state, connection) as running:
        shut(engine)
        connection.say(config(**fields, split_granularity="sentence"), text(f"{SENTENCE} {SENTENCE} "), DONE)
        await until(lambda: engine.steps_started == 1)
        engine.release()
        await until(lambda: engine.steps_started == 2)
        connection.leave()
        await running
        await until(lambda: app.state.speaker.scheduler.statistics().stepping == 0)
        engine.open()
        assert engine.steps_started == 2
        assert app.state.speaker.scheduler.statistics().speaking == 0


async def test_a_disconnect_behind_the_read_ahead_bound_is_noticed_too() -> None:
    engine = opened(GatedEngine())
    connection = MemoryConnection()
    async with application(engine) as app, session(app.state, connection) as running:
        shut(engine)
        connection.say(config(response_format="wav"), *[text("Hm."), DONE] * 200)
        await until(lambda: engine.steps_started == 1)
        connection.leave()
        async with asyncio.timeout(5):
            await running
        assert engine.steps_started == 1


@pytest.mark.parametrize(
    ("message", "held"),
    [("{}", BACKLOG_MESSAGES), ("x" * 100_000, BACKLOG_CHARS // 100_000 + 1)],
    ids=["messages", "characters"],
)
async def test_beyond_the_read_ahead_bound_a_backlog_waits_and_no_more_is_received(message: str, held: int) -> None:
    engine = opened(GatedEngine())
    connection = MemoryConnection()
    async with application(engine) as app, session(app.state, connection) as running:
        shut(engine)
        connection.say(config(**STREAMED, split_granularity="sentence"), text("Hm. " * 100), *[message] * (held + 50))
        await until(lambda: connection.incoming.qsize() <= 50)
        for _ in range(20):
            await asyncio.sleep(0)
        assert connection.incoming.qsize() == 50
        engine.open()
        connection.say(DONE, CLOSE)
        await running
    assert connection.types.count("audio.done") == 100
    assert connection.types.count("error") == held + 50


async def test_replies_to_a_flood_are_bounded_by_what_the_client_takes() -> None:
    connection = MemoryConnection()
    flood = BACKLOG_MESSAGES + 1000
    async with application() as app, session(app.state, connection):
        connection.takes.clear()
        connection.say(config(), *["nonsense"] * flood)
        await until(lambda: connection.incoming.qsize() < 1000)
        for _ in range(3000):
            await asyncio.sleep(0)
        assert connection.incoming.qsize() == 999  # one is being answered
        connection.takes.set()
        await connection.until("error", flood)


async def test_audio_waits_for_a_client_that_does_not_take_it() -> None:
    connection = MemoryConnection()
    async with application(ToneEngine(), max_speaking=2) as app, session(app.state, connection):
        connection.takes.clear()
        connection.say(config(**STREAMED), text(SENTENCE * 20), DONE)
        scheduler = app.state.speaker.scheduler
        before = scheduler.statistics().audio_s
        await until(lambda: scheduler.statistics().audio_s - before >= 2)
        for _ in range(200):
            await asyncio.sleep(0)
        assert scheduler.statistics().audio_s - before < 2.2


async def test_a_client_that_is_gone_when_something_is_sent_ends_the_session() -> None:
    engine = opened(GatedEngine())
    connection = MemoryConnection().say(config(**STREAMED), text(SENTENCE), DONE)
    async with application(engine) as app, session(app.state, connection) as running:
        connection.gone = True
        async with asyncio.timeout(5):
            await running
        assert app.state.speaker.scheduler.statistics().speaking == 0
        assert connection.closed is None


async def test_a_client_that_leaves_while_its_file_is_encoded_is_sent_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    encoding, go_on = asyncio.Event(), asyncio.Event()

    async def encode(self: units.WholeFile) -> bytes:
        encoding.set()
        await go_on.wait()
        return b"file"

    monkeypatch.setattr(units.WholeFile, "encode", encode)
    connection = MemoryConnection().say(config(), text(SENTENCE), DONE)
    async with application() as app, session(app.state, connection) as running:
        await encoding.wait()
        connection.leave()
        await asyncio.sleep(0.01)
        go_on.set()
        await running
    assert connection.types == ["audio.start"]
