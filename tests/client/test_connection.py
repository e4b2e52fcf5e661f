"""Bounds of a connection, and transports that misbehave."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from antiphon.client import connection
from antiphon.client.errors import BacklogError, ServerFaultError, VoiceClosedError
from antiphon.client.events import Audio, Event
from antiphon.client.transport import ConnectionClosedError
from antiphon.client.voice import Voice
from antiphon.protocol.client_session import ClientSession
from antiphon.testing.endpoint import FakeEndpoint, FakeTransport

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("no_task_is_left")]


async def settled(endpoint: FakeEndpoint) -> int:
    """Let everything run that can; return how many frames the client has taken."""
    taken = -1
    while taken != endpoint.frames_sent:
        taken = endpoint.frames_sent
        await asyncio.sleep(0.02)
    return taken


async def drained(events: AsyncIterator[Event]) -> int:
    async with asyncio.timeout(20):
        return sum([len(event.data) async for event in events if isinstance(event, Audio)])


async def test_no_more_text_is_sent_for_a_listener_that_is_far_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "HOLD_BYTES", 50_000)
    endpoint = FakeEndpoint()
    async with Voice(endpoint.connect()) as voice, voice.utterance() as utterance:
        await utterance.write("This is one sentence of many. " * 1000)
        await utterance.end()
        await settled(endpoint)
        spoken_unheard = len(endpoint.spoken)
        taken = await drained(utterance)

    per_unit = len("This is one sentence of many.") * 240 * 2
    assert spoken_unheard <= 50_000 / per_unit + 3
    assert taken == 1000 * per_unit


async def test_a_server_that_sends_regardless_is_not_read_beyond_the_hard_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connection, "MAX_UNHEARD_BYTES", 100_000)
    endpoint = FakeEndpoint(samples_per_character=100_000)
    async with Voice(endpoint.connect()) as voice, voice.utterance() as utterance:
        await utterance.write("One sentence of 4 MB.")
        await utterance.end()
        frames = await settled(endpoint)
        taken = await drained(utterance)

    assert frames * endpoint.chunk_bytes <= 100_000 + 2 * endpoint.chunk_bytes
    assert taken == len("One sentence of 4 MB.") * 200_000


async def test_closing_an_utterance_makes_room_for_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "MAX_UNHEARD_BYTES", 100_000)
    endpoint = FakeEndpoint(samples_per_character=10_000)
    async with Voice(endpoint.connect()) as voice:
        async with voice.utterance() as utterance:
            await utterance.write("Nobody listens to this.")
            await utterance.end()
            await settled(endpoint)

        assert await drained(voice.say("Next.")) == len("Next.") * 20_000


async def test_a_connection_that_is_not_read_for_lack_of_a_listener_can_be_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connection, "MAX_UNHEARD_BYTES", 10_000)
    endpoint = FakeEndpoint()
    async with asyncio.timeout(5):
        async with Voice(endpoint.connect()) as voice:
            utterance = voice.utterance()
            await utterance.write("Nobody listens to this.")
            await utterance.end()
            await settled(endpoint)

    assert endpoint.closed == 1
    heard = drained(utterance)
    with pytest.raises(VoiceClosedError):
        await heard


async def test_text_that_nobody_will_hear_is_refused_at_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "MAX_WAITING_CHARACTERS", 10_000)
    endpoint = FakeEndpoint()
    endpoint.pause()
    async with Voice(endpoint.connect()) as voice, voice.utterance() as utterance:
        with pytest.raises(BacklogError, match="iterate"):
            await utterance.write("A sentence. " * 2000)
        endpoint.resume()
        await utterance.end()
        await drained(utterance)

    assert 10_000 <= len(" ".join(endpoint.spoken)) <= 12_000


async def test_a_writer_waits_at_the_bound_while_somebody_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "MAX_WAITING_CHARACTERS", 10_000)
    endpoint = FakeEndpoint(samples_per_character=10)
    taken = 0

    async def counted() -> AsyncIterator[str]:
        nonlocal taken
        for token in ["A sentence. "] * 2000:
            taken += 1
            yield token

    endpoint.pause()
    async with Voice(endpoint.connect()) as voice:
        listener = asyncio.create_task(drained(voice.say(counted())))
        await endpoint.speaking.wait()
        before = -1
        while before != taken:
            before = taken
            await asyncio.sleep(0.05)
        assert taken * len("A sentence. ") <= 12_000
        endpoint.resume()
        heard = await listener

    assert " ".join(endpoint.spoken).split() == ["A", "sentence."] * 2000
    assert heard == len("".join(endpoint.spoken)) * 20


async def test_a_writer_that_waits_at_the_bound_is_woken_by_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "MAX_WAITING_CHARACTERS", 1000)
    endpoint = FakeEndpoint()
    endpoint.pause()
    async with asyncio.timeout(5):
        async with Voice(endpoint.connect()) as voice:
            utterance = voice.utterance()
            listener = asyncio.create_task(drained(utterance))
            await asyncio.sleep(0)
            writer = asyncio.create_task(utterance.write("A sentence. " * 1000))
            await endpoint.speaking.wait()
        outcomes = await asyncio.gather(writer, listener, return_exceptions=True)

    assert [type(outcome) for outcome in outcomes] == [VoiceClosedError, VoiceClosedError]


async def test_a_server_that_falls_silent_is_given_up() -> None:
    endpoint = FakeEndpoint()
    endpoint.pause()
    async with Voice(endpoint.connect(), response_timeout_s=0.1) as voice:
        heard = drained(voice.say("Hello there."))
        with pytest.raises(ServerFaultError, match=r"silent for 0\.1 s"):
            await heard

    assert endpoint.closed == 1


async def test_a_server_that_cannot_be_heard_for_lack_of_a_listener_is_not_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connection, "MAX_UNHEARD_BYTES", 10_000)
    endpoint = FakeEndpoint()
    async with Voice(endpoint.connect(), response_timeout_s=0.1) as voice, voice.utterance() as utterance:
        await utterance.write("Nobody listens to this for long.")
        await utterance.end()
        await asyncio.sleep(0.3)
        assert await drained(utterance) == len("Nobody listens to this for long.") * 480


class Broken(FakeTransport):
    """A transport with a defect."""

    async def receive(self) -> str | bytes:
        raise ValueError("bad frame")


class Mute(FakeTransport):
    """Takes nothing: `send` waits until the connection is closed."""

    async def send(self, data: str) -> None:
        await self._wait_for_close()
        raise ConnectionClosedError(1000)


class Garbage(FakeTransport):
    """Says what is no message."""

    async def receive(self) -> str | bytes:
        await asyncio.sleep(0)
        return "<html>"


class Unclosable(Broken):
    """Broken, and cannot even be closed."""

    async def close(self, code: int = 1000, reason: str = "") -> None:
        await super().close(code, reason)
        raise ValueError("cannot be closed")


@pytest.mark.parametrize(
    ("transport", "message"), [(Broken, "bad frame"), (Garbage, "not JSON"), (Unclosable, "bad frame")]
)
async def test_a_transport_that_misbehaves_ends_the_session(transport: type[FakeTransport], message: str) -> None:
    endpoint = FakeEndpoint()
    async with Voice(transport(endpoint)) as voice:
        heard = drained(voice.say("Hello there."))
        with pytest.raises(ServerFaultError, match=message):
            await heard

    assert endpoint.closed == 1


@pytest.mark.parametrize("method", ["receive", "tick"])
async def test_a_fault_of_our_own_is_told_and_closes_the_transport(
    method: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    fault = LookupError("no such unit")

    def faulty(*_: object, **__: object) -> None:
        raise fault

    monkeypatch.setattr(ClientSession, method, faulty)
    endpoint = FakeEndpoint()
    endpoint.pause()
    async with Voice(endpoint.connect(), keepalive_s=0.01) as voice:
        heard = drained(voice.say("Hello there."))
        with pytest.raises(ServerFaultError, match="no such unit") as caught:
            await heard

    assert caught.value.__cause__ is fault
    assert endpoint.closed == 1
    assert caplog.records == []


async def test_a_connection_that_takes_nothing_can_be_closed() -> None:
    endpoint = FakeEndpoint()
    async with asyncio.timeout(5):
        async with Voice(Mute(endpoint), keepalive_s=0.01) as voice, voice.utterance() as utterance:
            await utterance.write("Hello there.")
            await asyncio.sleep(0.1)

    assert endpoint.closed == 1


def test_an_event_loop_that_ends_takes_its_connections_with_it(caplog: pytest.LogCaptureFixture) -> None:
    endpoint = FakeEndpoint()

    async def forgetful() -> None:
        utterance = Voice(endpoint.connect()).utterance()
        await utterance.write("Hello there.")
        await asyncio.sleep(0)

    asyncio.run(forgetful())
    assert endpoint.closed == 1
    assert caplog.records == []
