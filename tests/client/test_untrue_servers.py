"""What the caller hears of a server that fails and does not say so, or says what cannot be."""

import asyncio
import json
from collections import deque

import pytest
from tests.client.listening import audio, heard

from antiphon.client.errors import GenerationError, ServerFaultError
from antiphon.client.events import Event, Finished, UnitDone, UnitSkipped
from antiphon.client.transport import ConnectionClosedError
from antiphon.client.voice import Voice
from antiphon.protocol.messages import AudioDone, AudioStart, ErrorMessage, SessionDone

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("no_task_is_left")]

START = AudioStart(format="pcm", sample_rate=24_000).to_json()
DONE = SessionDone(total_sentences=1).to_json()
TEXT = "Hi there."


class Scripted:
    """A `Transport` to a server that answers the first ``input.done`` with these frames, and nothing else with any."""

    def __init__(self, *frames: str | bytes) -> None:
        self._frames = deque(frames)
        self._wake = asyncio.Event()
        self._closed = False

    async def send(self, data: str) -> None:
        if json.loads(data)["type"] == "input.done":
            self._wake.set()

    async def receive(self) -> str | bytes:
        await self._wake.wait()
        while not self._frames and not self._closed:
            self._wake.clear()
            await self._wake.wait()
        if self._closed:
            raise ConnectionClosedError(1000)
        return self._frames.popleft()

    async def close(self, code: int = 1000, reason: str = "") -> None:
        self._closed = True
        self._wake.set()


async def said(*frames: str | bytes, into: list[Event] | None = None) -> list[Event]:
    async with Voice(Scripted(*frames)) as voice:
        return await heard(voice.say(TEXT), into)


async def test_a_failure_without_an_error_message_is_raised_after_its_audio() -> None:
    events: list[Event] = []
    with pytest.raises(GenerationError, match="does not say of what") as caught:
        await said(START, b"\1\0", AudioDone(total_bytes=2, error=True).to_json(), DONE, into=events)

    assert audio(events) == b"\1\0"
    assert caught.value.partial_audio


async def test_an_error_without_a_message_is_a_sentence() -> None:
    with pytest.raises(GenerationError, match="does not say of what"):
        await said(START, ErrorMessage().to_json(), DONE)


async def test_a_unit_without_speech_is_reported_as_skipped_and_counts_for_nothing() -> None:
    events = await said(SessionDone(total_sentences=0).to_json())

    assert events[0] == UnitSkipped(0, TEXT, 0, len(TEXT))
    assert isinstance(events[1], Finished)
    assert events[1].statistics.units == 0
    assert not any(isinstance(event, UnitDone) for event in events)


@pytest.mark.parametrize(
    ("frames", "words"),
    [
        ((AudioStart(utterance_index=7, format="pcm", sample_rate=24_000).to_json(),), "not asked to"),
        ((AudioStart(format="mp3", sample_rate=24_000).to_json(), b"ID3\4"), "another format than PCM"),
        ((START, b"\1\0\2", DONE), "within a sample"),
        ((b"\1\0", START), "does not say of what"),
    ],
)
async def test_what_a_server_must_not_do_is_its_fault(frames: tuple[str | bytes, ...], words: str) -> None:
    with pytest.raises(ServerFaultError, match=words):
        await said(*frames)


async def test_a_server_that_never_answers_is_given_up_with_words() -> None:
    async with Voice(Scripted(), response_timeout_s=0.05) as voice:
        with pytest.raises(ServerFaultError, match=r"owes speech and has been silent for 0\.05 s"):
            await heard(voice.say(TEXT))
