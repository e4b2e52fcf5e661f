"""`local:` through `antiphon.connect`."""

import asyncio
import logging
import threading
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.server.driving import opened, shut

import antiphon
from antiphon import local
from antiphon.client.errors import ConnectError, ConnectionLostError, GenerationError, TargetError
from antiphon.client.events import Audio
from antiphon.client.targets import ConnectOptions
from antiphon.client.transport import ConnectionClosedError
from antiphon.engines import registry
from antiphon.engines.contract import EngineError
from antiphon.engines.tone import ToneEngine, tone_pcm
from antiphon.testing.engines import FailingEngine, GatedEngine, SlowEngine

pytestmark = pytest.mark.anyio

TEXT = "Spoken within this very process."
CONFIG = '{"type":"session.config","response_format":"pcm","stream_audio":true}'


@pytest.fixture(autouse=True)
async def nothing_is_left(anyio_backend: str) -> AsyncIterator[None]:
    yield
    assert local._servers_here() == {}
    assert [task for task in asyncio.all_tasks() if "TestRunner" not in repr(task)] == []
    assert [thread for thread in threading.enumerate() if thread.name.startswith("antiphon-step")] == []


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The engines that were made, from now on; `made.append` one beforehand to have it used."""
    engines: list[Any] = []

    def create(name: str, **options: Any) -> Any:
        engines.append(registry.create(name, **options))
        return engines[-1]

    monkeypatch.setattr(local, "create", create)
    return engines


def use(monkeypatch: pytest.MonkeyPatch, engine: Any) -> None:
    monkeypatch.setattr(local, "create", lambda _name, **_options: engine)


async def spoken(voice: Any, text: str = TEXT) -> bytes:
    pcm = bytearray()
    async with asyncio.timeout(20):
        async for event in voice.say(text):
            if isinstance(event, Audio):
                pcm += event.data
    return bytes(pcm)


async def transport(target: str = "local:tone") -> local._LocalTransport:
    return await local.open_local(target, ConnectOptions())


@pytest.mark.parametrize("target", ["local:tone", "local://tone", "LOCAL:tone/"])
async def test_an_engine_speaks_by_its_name(target: str) -> None:
    async with antiphon.connect(target) as voice:
        assert await spoken(voice) == tone_pcm(TEXT)


async def test_the_default_engine_speaks() -> None:
    async with antiphon.connect("local:") as voice:
        assert len(await spoken(voice)) > 24_000


async def test_voices_share_one_engine_and_speak_at_once(made: list[Any]) -> None:
    async with (
        antiphon.connect("local:tone") as first,
        antiphon.connect("local:tone") as second,
        antiphon.connect("local:tone") as third,
    ):
        texts = ["One.", "Two is longer.", TEXT]
        said = await asyncio.gather(*(map(spoken, (first, second, third), texts)))
        assert said == list(map(tone_pcm, texts))
    assert len(made) == 1


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
async def test_voices_are_closed_in_any_order(order: tuple[int, ...]) -> None:
    transports = [await transport() for _ in range(3)]
    for index in order:
        assert local._servers_here()
        await transports[index].close()
        await transports[index].close()


async def test_after_the_last_voice_a_new_one_has_a_new_engine(made: list[Any]) -> None:
    for _ in range(2):
        async with antiphon.connect("local:tone") as voice:
            await spoken(voice)
    assert len(made) == 2


async def test_a_voice_that_opens_while_the_last_one_closes_can_speak() -> None:
    first = await transport()
    closing = asyncio.create_task(first.close())
    await asyncio.sleep(0)
    async with antiphon.connect("local:tone") as voice:
        await closing
        assert await spoken(voice) == tone_pcm(TEXT)


async def test_an_engine_that_there_is_not_is_named() -> None:
    with pytest.raises(TargetError, match="local:gramophone: no engine named 'gramophone'"):
        async with antiphon.connect("local:gramophone"):
            pass


@pytest.mark.parametrize("error", [EngineError("no weights here"), OSError("no weights here")])
async def test_an_engine_that_cannot_load_is_no_connection(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    class Unwilling(ToneEngine):
        def load(self) -> None:
            raise error

    use(monkeypatch, Unwilling())
    attempts = await asyncio.gather(*(transport() for _ in range(3)), return_exceptions=True)
    assert [type(attempt) for attempt in attempts] == [ConnectError] * 3
    assert "no weights here" in str(attempts[0])
    use(monkeypatch, ToneEngine())
    await (await transport()).close()


async def test_an_engine_that_is_not_ready_in_time_is_worth_another_try(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = GatedEngine()
    use(monkeypatch, engine)
    patient = asyncio.create_task(transport())
    async with asyncio.timeout(5):
        with pytest.raises(ConnectError, match=r"tone was not ready within 0\.05 s") as caught:
            await local.open_local("local:tone", ConnectOptions(connect_timeout_s=0.05))
    engine.open()
    await (await patient).close()

    assert caught.value.retryable


async def test_giving_up_while_the_engine_loads_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = GatedEngine()
    use(monkeypatch, engine)
    opening = asyncio.create_task(transport())
    await asyncio.to_thread(engine.wait_started, 1)
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        async with asyncio.timeout(5):
            await opening


async def test_an_engine_that_fails_ends_the_utterance_and_not_the_voice(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = FailingEngine(99)
    use(monkeypatch, engine)
    async with antiphon.connect("local:tone") as voice:
        engine._fail_at = 1
        with pytest.raises(GenerationError, match="the fake engine fails here"):
            await spoken(voice)
        engine._fail_at = 99
        assert await spoken(voice) == tone_pcm(TEXT)


async def test_closing_while_it_speaks_stops_synthesis(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = opened(GatedEngine())
    use(monkeypatch, engine)
    connection = await transport()
    shut(engine)
    engine.release(2)
    await connection.send(CONFIG)
    await connection.send('{"type":"input.text","text":"' + "long " * 100 + '"}')
    await connection.send('{"type":"input.done"}')
    await connection.receive()
    await connection.receive()
    started = engine.steps_started
    async with asyncio.timeout(5):
        await connection.close()
    engine.open()
    assert engine.steps_started <= started + 2


async def test_what_the_server_said_before_its_end_is_received_and_then_the_end() -> None:
    connection = await transport()
    await connection.send("nonsense")
    await asyncio.wait({connection._session})
    assert "Invalid JSON message" in str(await connection.receive())
    for _ in range(2):
        with pytest.raises(ConnectionClosedError) as closed:
            await connection.receive()
        assert (closed.value.code, closed.value.reason) == (1008, "a valid session.config must come first")
    with pytest.raises(ConnectionClosedError):
        await connection.send(CONFIG)
    await connection.close()


async def test_closing_wakes_those_that_wait() -> None:
    connection = await transport()
    receiving = asyncio.create_task(connection.receive())
    await asyncio.sleep(0)
    await connection.close(1000, "enough")
    with pytest.raises(ConnectionClosedError) as closed:
        await receiving
    assert (closed.value.code, closed.value.reason) == (1000, "enough")


async def test_messages_under_way_are_bounded_in_both_directions(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, SlowEngine(0.0, chunk_ms=10))
    connection = await transport()
    await connection.send(CONFIG)
    await connection.send('{"type":"input.text","text":"' + "long " * 100 + '"}')
    await connection.send('{"type":"input.done"}')
    pipe = connection._pipe
    while len(pipe.to_client._messages) < local.MESSAGES_UNDER_WAY:  # noqa: ASYNC110 - nobody tells
        await asyncio.sleep(0.001)
    await asyncio.sleep(0.05)
    assert len(pipe.to_client._messages) == local.MESSAGES_UNDER_WAY
    flood = asyncio.create_task(_pour(connection))
    await asyncio.sleep(0.05)
    assert not flood.done()
    assert len(pipe.to_server._messages) == local.MESSAGES_UNDER_WAY
    await connection.close()
    with pytest.raises(ConnectionClosedError):
        await flood


async def _pour(connection: local._LocalTransport) -> None:
    while True:
        await connection.send('{"type":"nonsense"}')


async def test_a_lane_loses_nothing_when_a_waiter_is_cancelled() -> None:
    lane: local._Lane[int] = local._Lane()
    getting = asyncio.create_task(lane.get())
    await asyncio.sleep(0)
    await lane.put(1)
    getting.cancel()
    await asyncio.gather(getting, return_exceptions=True)
    assert await lane.get() == 1


async def test_a_fault_of_the_server_is_a_lost_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    async with antiphon.connect("local:tone") as voice:
        monkeypatch.setattr("antiphon.text.stock.StockSplitter.feed", lambda *_: 1 / 0)
        with pytest.raises(ConnectionLostError, match="1011: internal error"):
            await spoken(voice)


async def test_the_environment_of_a_server_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTIPHON_DIALECT", "0.26")
    monkeypatch.setenv("ANTIPHON_MAX_SPEAKING", "nonsense")
    async with antiphon.connect("local:tone") as voice:
        assert await spoken(voice) == tone_pcm(TEXT)


async def test_nothing_is_printed(capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "antiphon"):
        async with antiphon.connect("local:tone") as voice:
            await spoken(voice)
    assert capfd.readouterr() == ("", "")
    assert TEXT not in caplog.text


def test_two_event_loops_have_an_engine_each(made: list[Any]) -> None:
    barrier = threading.Barrier(2)
    said: list[bytes] = []

    async def speak() -> None:
        async with antiphon.connect("local:tone") as voice:
            barrier.wait(10)
            said.append(await spoken(voice))
            barrier.wait(10)

    threads = [threading.Thread(target=asyncio.run, args=(speak(),)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert said == [tone_pcm(TEXT)] * 2
    assert len(made) == 2


def test_one_loop_after_another_works() -> None:
    async def speak() -> bytes:
        async with antiphon.connect("local:tone") as voice:
            return await spoken(voice)

    assert [asyncio.run(speak()) for _ in range(2)] == [tone_pcm(TEXT)] * 2
