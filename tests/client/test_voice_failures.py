"""What goes wrong, who hears of it, and that the voice survives it."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from tests.client.listening import SENTENCES, STORY, audio, heard

from antiphon.client.errors import (
    ConnectionLostError,
    GenerationError,
    SessionRefusedError,
    VoiceClosedError,
)
from antiphon.client.events import Event
from antiphon.client.voice import Voice
from antiphon.testing.endpoint import FakeEndpoint, fake_speech

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("no_task_is_left")]


async def test_a_source_that_raises_is_heard_of_and_the_voice_survives() -> None:
    endpoint = FakeEndpoint()

    async def failing() -> AsyncIterator[str]:
        yield "This is fine. This is "
        raise LookupError("no more words")

    async with Voice(endpoint.connect()) as voice:
        with pytest.raises(LookupError, match="no more words"):
            await heard(voice.say(failing()))
        await heard(voice.say("Still here."))

    assert endpoint.spoken[-1] == "Still here."


async def test_a_source_that_is_cancelled_from_elsewhere_does_not_leave_the_listener_waiting() -> None:
    async def cancelled() -> AsyncIterator[str]:
        yield "Hello. "
        raise asyncio.CancelledError

    async with Voice(FakeEndpoint().connect()) as voice:
        with pytest.raises(VoiceClosedError, match="cancelled"):
            await heard(voice.say(cancelled()))


async def test_a_source_of_anything_but_text_is_refused() -> None:
    async with Voice(FakeEndpoint().connect()) as voice:
        with pytest.raises(TypeError, match="not int"):
            await heard(voice.say(7))  # type: ignore[arg-type] # the point
        with pytest.raises(TypeError, match="not bytes"):
            await heard(voice.say([b"bytes"]))  # type: ignore[list-item] # the point


async def test_a_failed_generation_is_raised_after_the_audio_before_it_and_the_voice_survives() -> None:
    endpoint = FakeEndpoint(fail=lambda text: "out of memory" if "daughters" in text else None)
    events: list[Event] = []
    async with Voice(endpoint.connect()) as voice:
        with pytest.raises(GenerationError, match="out of memory") as caught:
            await heard(voice.say(STORY), events)
        await heard(voice.say("Still here."))

    assert audio(events) == fake_speech(SENTENCES[0])
    assert caught.value.unit == 1
    assert not caught.value.retryable
    assert not caught.value.partial_audio
    assert endpoint.spoken[-1] == "Still here."


async def test_writing_to_a_failed_utterance_raises_what_it_failed_of() -> None:
    endpoint = FakeEndpoint(fail=lambda _: "Invalid voice 'x'. Supported: a, b")
    async with Voice(endpoint.connect()) as voice, voice.utterance() as utterance:
        await utterance.write("A sentence. And ")
        with pytest.raises(GenerationError, match="Invalid voice"):
            await heard(utterance)
        with pytest.raises(GenerationError, match="Invalid voice") as caught:
            await utterance.write("more.")
        with pytest.raises(GenerationError, match="Invalid voice"):
            await utterance.end()

    assert not caught.value.retryable


async def test_what_the_server_refuses_at_the_start_is_raised() -> None:
    endpoint = FakeEndpoint()
    transport = endpoint.connect()
    async with Voice(transport, {"voice": "ryan"}) as voice:
        # A server that knows a stricter config than this client does.
        transport.refuse("The model `nope` does not exist.")
        with pytest.raises(SessionRefusedError, match="nope"):
            await heard(voice.say("Hello there."))
        with pytest.raises(SessionRefusedError, match="nope"):
            voice.utterance()


@pytest.mark.parametrize("frames", range(14))
async def test_a_connection_that_breaks_anywhere_is_an_error_and_nothing_hangs(frames: int) -> None:
    endpoint = FakeEndpoint(drop_after_frames=frames)
    async with Voice(endpoint.connect()) as voice:
        with pytest.raises(ConnectionLostError, match="1006") as caught:
            await heard(voice.say(STORY))
        with pytest.raises(ConnectionLostError):
            voice.utterance()

    assert caught.value.code == 1006
    assert caught.value.retryable
    assert endpoint.frames_sent == frames


@pytest.mark.parametrize("messages", range(1, 8))
async def test_a_connection_that_breaks_while_it_is_written_to_is_an_error(messages: int) -> None:
    endpoint = FakeEndpoint(drop_after_messages=messages)
    async with Voice(endpoint.connect()) as voice:
        with pytest.raises(ConnectionLostError):
            await heard(voice.say(STORY))


async def test_the_code_and_the_reason_of_a_close_are_told_and_so_is_the_servers_last_word() -> None:
    endpoint = FakeEndpoint()
    transport = endpoint.connect()
    async with Voice(transport) as voice:
        await heard(voice.say("Hello there."))
        async with voice.utterance() as utterance:
            await utterance.write("Waiting ")
            transport.disconnect(1012, "restarting")
            with pytest.raises(ConnectionLostError, match="code 1012: restarting"):
                await heard(utterance)
            with pytest.raises(ConnectionLostError):
                await utterance.write("for more.")

    endpoint = FakeEndpoint(idle_timeout_s=0.02)
    async with Voice(endpoint.connect()) as voice:
        await heard(voice.say("Hello there."))
        await asyncio.sleep(0.1)
        with pytest.raises(ConnectionLostError, match="Idle timeout"):
            voice.utterance()


async def test_closing_the_voice_ends_everything_that_waits() -> None:
    endpoint = FakeEndpoint()
    endpoint.pause()
    voice = Voice(endpoint.connect())
    listeners = [asyncio.create_task(heard(voice.say(STORY))) for _ in range(3)]
    await endpoint.speaking.wait()

    await voice.aclose()
    await voice.aclose()
    outcomes = await asyncio.gather(*listeners, return_exceptions=True)

    assert [type(outcome) for outcome in outcomes] == [VoiceClosedError] * 3
    with pytest.raises(VoiceClosedError):
        voice.utterance()


async def test_a_voice_may_be_closed_before_it_did_anything() -> None:
    endpoint = FakeEndpoint()

    await Voice(endpoint.connect()).aclose()

    assert endpoint.closed == 1
