"""The client against `antiphon serve`, in both stock dialects, and against `local:`."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from tests.client.listening import SENTENCES, STORY, audio, heard

import antiphon
from antiphon.client.errors import GenerationError, SessionRefusedError
from antiphon.client.events import Audio, Finished, UnitStarted
from antiphon.server.child import child_server

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("no_task_is_left")]

IDLE_S = 1.0


@pytest.fixture(params=["0.30", "0.26", "local:tone"])
async def target(request: pytest.FixtureRequest, anyio_backend: str) -> AsyncIterator[str]:
    if request.param.startswith("local:"):
        yield request.param
        return
    flags = ["--engine", "tone", "--dialect", request.param, "--idle-timeout-s", str(IDLE_S)]
    async with child_server(*flags) as url:
        yield url.replace("http://", "ws://", 1)


async def test_the_client_and_the_server_understand_each_other(target: str) -> None:
    first_sound = asyncio.Event()

    async def tokens() -> AsyncIterator[str]:
        yield SENTENCES[0] + " "
        await first_sound.wait()
        yield f"{SENTENCES[1]} {SENTENCES[2]}"

    async with antiphon.connect(target, voice="vivian", language="English", keepalive_s=IDLE_S / 4) as voice:
        events = []
        async with asyncio.timeout(20):
            async for event in voice.say(tokens()):
                events.append(event)
                if isinstance(event, Audio):
                    first_sound.set()
        await asyncio.sleep(1.5 * IDLE_S)
        other = await heard(voice.say(STORY, voice="ryan"))
        async for event in voice.say(STORY):
            if isinstance(event, Audio):
                break
        again = await heard(voice.say(STORY, voice="ryan"))
        with pytest.raises(GenerationError, match="Invalid voice 'nobody'") as caught:
            await heard(voice.say(STORY, voice="nobody"))
        last = await heard(voice.say(STORY, voice="ryan"))

    assert [event.text for event in events if isinstance(event, UnitStarted)] == SENTENCES
    assert isinstance(events[-1], Finished)
    assert events[-1].statistics.first_chunk_s is not None
    assert events[-1].statistics.text_complete_s is not None
    assert events[-1].statistics.first_chunk_s < events[-1].statistics.text_complete_s
    assert len(audio(events)) > 24_000
    assert audio(other) == audio(again) == audio(last)
    assert not caught.value.retryable

    async with antiphon.connect(target, model="nope") as voice:
        with pytest.raises(SessionRefusedError, match="`nope` does not exist"):
            await heard(voice.say(STORY))
