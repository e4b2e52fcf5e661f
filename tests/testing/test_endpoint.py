"""The fake is only worth as much as it resembles the real server; the conformance tests show what that does."""

import json
from typing import Any

import pytest

from antiphon.client.transport import ConnectionClosedError, Transport
from antiphon.testing.endpoint import FakeEndpoint, FakeTransport, fake_speech

pytestmark = pytest.mark.anyio

CONFIG = {"type": "session.config", "response_format": "pcm", "stream_audio": True}
DONE = {"type": "input.done"}


def text(words: str) -> dict[str, Any]:
    return {"type": "input.text", "text": words}


async def exchange(transport: FakeTransport, *messages: dict[str, Any], frames: int) -> list[Any]:
    for message in messages:
        await transport.send(json.dumps(message))
    received = [await transport.receive() for _ in range(frames)]
    return [json.loads(frame) if isinstance(frame, str) else frame for frame in received]


async def test_a_flush_is_answered_as_the_real_server_does() -> None:
    endpoint = FakeEndpoint(samples_per_character=1, chunk_samples=4)

    frames = await exchange(endpoint.connect(), CONFIG, text("Hel"), text("lo "), DONE, frames=6)

    assert frames == [
        {
            "type": "audio.start",
            "utterance_index": 0,
            "sentence_index": 0,
            "sentence_text": "Hello",
            "format": "pcm",
            "sample_rate": 24_000,
        },
        fake_speech("Hello", samples_per_character=1)[:8],
        fake_speech("Hello", samples_per_character=1)[8:],
        b"",
        {"type": "audio.done", "utterance_index": 0, "sentence_index": 0, "total_bytes": 10, "error": False},
        {"type": "session.done", "utterance_index": 0, "total_sentences": 1},
    ]


async def test_an_empty_flush_counts_and_says_nothing() -> None:
    frames = await exchange(FakeEndpoint().connect(), CONFIG, DONE, text(" "), DONE, frames=2)

    assert [(frame["utterance_index"], frame["total_sentences"]) for frame in frames] == [(0, 0), (1, 0)]


async def test_nothing_is_read_while_it_speaks() -> None:
    endpoint = FakeEndpoint()
    transport = endpoint.connect()

    await exchange(transport, CONFIG, text("One."), DONE, text("Two."), DONE, frames=2)

    assert endpoint.spoken == ["One."]


@pytest.mark.parametrize(("dialect", "refused"), [("0.26", True), ("0.30", False)])
async def test_an_empty_text_keeps_a_config_out_in_0_26_only(dialect: str, refused: bool) -> None:
    transport = FakeEndpoint(dialect=dialect).connect()

    [answer] = await exchange(transport, CONFIG, text(""), CONFIG, DONE, frames=1)

    assert (answer["type"] == "error") is refused


async def test_bad_configs_are_refused_and_the_first_one_fatally() -> None:
    bad = {**CONFIG, "speed": 2.0}
    transport = FakeEndpoint().connect()
    [error] = await exchange(transport, CONFIG, bad, frames=1)
    assert error["message"].startswith("Invalid session config: 1 validation error for StreamingSpeechSessionConfig")
    assert await exchange(transport, DONE, frames=1)

    for first in (bad, DONE):
        transport = FakeEndpoint().connect()
        assert (await exchange(transport, first, frames=1))[0]["type"] == "error"
        with pytest.raises(ConnectionClosedError, match="1006"):
            await transport.receive()


async def test_an_unknown_message_is_an_error_and_the_session_lives_on() -> None:
    frames = await exchange(FakeEndpoint().connect(), CONFIG, {"type": "ping"}, DONE, frames=2)

    assert frames[0] == {"type": "error", "message": "Unknown message type: ping"}
    assert frames[1]["type"] == "session.done"


async def test_a_session_can_be_closed_and_ends_when_idle() -> None:
    transport = FakeEndpoint().connect()
    await exchange(transport, CONFIG, {"type": "session.close"}, frames=0)
    with pytest.raises(ConnectionClosedError, match="1000"):
        await transport.receive()

    transport = FakeEndpoint(idle_timeout_s=0.01).connect()
    [error] = await exchange(transport, CONFIG, frames=1)
    assert error["message"] == "Idle timeout: no message received"
    with pytest.raises(ConnectionClosedError, match="1006"):
        await transport.receive()


async def test_a_failure_is_reported_between_start_and_done() -> None:
    endpoint = FakeEndpoint(fail=lambda _: "boom")

    frames = await exchange(endpoint.connect(), CONFIG, text("One."), DONE, frames=4)

    assert [frame["type"] for frame in frames] == ["audio.start", "error", "audio.done", "session.done"]
    assert frames[1]["message"] == "Generation failed for utterance 0, sentence 0: boom"
    assert frames[2]["error"]


async def test_what_is_no_utf_8_cannot_be_sent_as_over_a_socket() -> None:
    with pytest.raises(UnicodeEncodeError):
        await FakeEndpoint().connect().send('{"type":"input.text","text":"\ud83d"}')


async def test_a_closed_connection_takes_and_gives_nothing() -> None:
    endpoint = FakeEndpoint()
    transport: Transport = endpoint.connect()
    await transport.close(1000, "bye")
    await transport.close()

    with pytest.raises(ConnectionClosedError, match="bye"):
        await transport.send("{}")
    with pytest.raises(ConnectionClosedError, match="bye"):
        await transport.receive()
    assert endpoint.closed == 1
