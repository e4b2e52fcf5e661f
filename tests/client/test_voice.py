import asyncio
from collections.abc import AsyncIterator, Callable, Iterator

import pytest

from antiphon.client import targets
from antiphon.client.errors import (
    BacklogError,
    ConnectError,
    ConnectionLostError,
    GenerationError,
    OptionError,
    SessionRefusedError,
    SpeechError,
    VoiceClosedError,
)
from antiphon.client.events import Audio, Event, Finished, UnitDone, UnitStarted
from antiphon.client.sources import TextSource
from antiphon.client.targets import ConnectOptions
from antiphon.client.transport import Transport
from antiphon.client.voice import Voice, connect
from antiphon.testing.endpoint import FakeEndpoint, fake_speech

pytestmark = pytest.mark.anyio

STORY = "Once upon a time there was a king. He had three daughters. They all lived happily."
SENTENCES = ["Once upon a time there was a king.", "He had three daughters.", "They all lived happily."]


@pytest.fixture(autouse=True)
async def no_task_is_left(anyio_backend: str) -> AsyncIterator[None]:
    yield
    assert [task for task in asyncio.all_tasks() if task.get_name().startswith("antiphon")] == []


def audio(events: list[Event]) -> bytes:
    return b"".join(event.data for event in events if isinstance(event, Audio))


async def heard(events: AsyncIterator[Event], into: list[Event] | None = None) -> list[Event]:
    into = [] if into is None else into
    async with asyncio.timeout(20):
        async for event in events:
            into.append(event)
    return into


async def test_a_string_is_spoken_unit_by_unit() -> None:
    endpoint = FakeEndpoint()
    async with Voice(endpoint.connect(), {"voice": "vivian", "language": "English"}) as voice:
        events = await heard(voice.say(STORY))

    assert endpoint.spoken == SENTENCES
    assert endpoint.received[0] == {
        "type": "session.config",
        "voice": "vivian",
        "language": "English",
        "response_format": "pcm",
        "stream_audio": True,
        "split_granularity": "none",
    }
    assert audio(events) == b"".join(map(fake_speech, SENTENCES))
    started = [event for event in events if isinstance(event, UnitStarted)]
    assert [(unit.index, unit.text, unit.sample_rate) for unit in started] == [
        (index, text, 24_000) for index, text in enumerate(SENTENCES)
    ]
    assert [STORY[unit.start : unit.end].strip() for unit in started] == SENTENCES
    assert [event.index for event in events if isinstance(event, UnitDone)] == [0, 1, 2]
    assert isinstance(events[-1], Finished)
    assert endpoint.closed == 1


async def generated() -> AsyncIterator[str]:
    for word in STORY.split(" "):
        yield word + " "


def written() -> Iterator[str]:
    for word in STORY.split(" "):
        yield word + " "


@pytest.mark.parametrize("source", [generated, written, lambda: list(written()), lambda: tuple(written())])
async def test_every_kind_of_source_is_spoken_alike(source: Callable[[], TextSource]) -> None:
    endpoint = FakeEndpoint()
    async with Voice(endpoint.connect()) as voice:
        await heard(voice.say(source()))

    assert endpoint.spoken == SENTENCES


async def test_audio_comes_before_the_text_is_complete() -> None:
    endpoint = FakeEndpoint()
    first_sound = asyncio.Event()

    async def tokens() -> AsyncIterator[str]:
        yield "The first sentence. Then "
        await first_sound.wait()
        yield "the rest."

    async with Voice(endpoint.connect()) as voice:
        events = []
        async for event in voice.say(tokens()):
            events.append(event)
            if isinstance(event, Audio):
                first_sound.set()

    finished = events[-1]
    assert isinstance(finished, Finished)
    figures = finished.statistics
    assert endpoint.spoken == ["The first sentence.", "Then the rest."]
    assert figures.first_chunk_s is not None
    assert figures.text_complete_s is not None
    assert figures.first_chunk_s < figures.text_complete_s


async def test_one_may_write_everything_and_listen_afterwards() -> None:
    endpoint = FakeEndpoint()
    async with Voice(endpoint.connect()) as voice, voice.utterance() as utterance:
        for word in written():
            await utterance.write(word)
        await utterance.end()
        await utterance.end()
        events = await heard(utterance)

        assert audio(events) == b"".join(map(fake_speech, SENTENCES))
        assert utterance.statistics == events[-1].statistics  # type: ignore[union-attr] # Finished is the last
        assert await heard(utterance) == []


async def test_the_clock_lets_a_unit_go_that_the_text_alone_would_hold_back() -> None:
    endpoint = FakeEndpoint()
    async with Voice(endpoint.connect()) as voice, voice.utterance() as utterance:
        await utterance.write("This is a sentence that has no end yet and ")
        async with asyncio.timeout(5):
            event = await anext(utterance)

    assert isinstance(event, UnitStarted)
    assert endpoint.spoken[0].startswith("This is a sentence")


async def test_utterances_are_spoken_in_the_order_in_which_they_began() -> None:
    endpoint = FakeEndpoint()
    async with Voice(endpoint.connect()) as voice, voice.utterance() as first, voice.utterance() as second:
        await second.write("The second one. ")
        await second.end()
        await first.write("The first one. ")
        both = asyncio.gather(heard(first), heard(second))
        await first.write("And more of it.")
        await first.end()
        heard_first, heard_second = await both

    assert endpoint.spoken == ["The first one.", "And more of it.", "The second one."]
    assert audio(heard_first) == fake_speech("The first one.") + fake_speech("And more of it.")
    assert audio(heard_second) == fake_speech("The second one.")


async def test_an_utterance_can_have_a_voice_of_its_own() -> None:
    endpoint = FakeEndpoint()
    async with Voice(endpoint.connect(), {"voice": "ryan"}) as voice:
        await heard(voice.say("Hello there."))
        await heard(voice.say("Hello yourself.", voice="vivian"))
        await heard(voice.say("Goodbye then."))

    assert endpoint.voices == ["ryan", "vivian", "ryan"]


@pytest.mark.parametrize("dialect", ["0.26", "0.30"])
async def test_a_voice_that_is_idle_for_long_keeps_its_session_and_can_change_its_config(dialect: str) -> None:
    endpoint = FakeEndpoint(dialect=dialect, idle_timeout_s=0.2)
    async with Voice(endpoint.connect(), {"voice": "ryan"}, keepalive_s=0.05) as voice:
        await asyncio.sleep(0.5)
        await heard(voice.say("Hello there."))
        await asyncio.sleep(0.3)
        await heard(voice.say("Hello yourself.", voice="vivian"))

    assert endpoint.voices == ["ryan", "vivian"]
    assert {"type": "input.text", "text": ""} in endpoint.received


async def test_a_writer_that_pauses_for_longer_than_the_idle_limit_keeps_its_session() -> None:
    endpoint = FakeEndpoint(idle_timeout_s=0.2)

    async def slow() -> AsyncIterator[str]:
        yield "First. "
        await asyncio.sleep(0.5)
        yield "Second."

    async with Voice(endpoint.connect(), keepalive_s=0.05) as voice:
        await heard(voice.say(slow()))

    assert endpoint.spoken == ["First.", "Second."]


async def test_breaking_off_leaves_the_voice_fit_for_the_next_utterance() -> None:
    endpoint = FakeEndpoint()
    async with Voice(endpoint.connect()) as voice:
        async for event in voice.say(STORY):
            if isinstance(event, Audio):
                break
        events = await heard(voice.say("Something else."))

    assert audio(events) == fake_speech("Something else.")
    assert endpoint.spoken[-1] == "Something else."
    assert SENTENCES[2] not in endpoint.spoken  # beyond the one ahead nothing of it was sent


async def test_cancelling_the_listener_leaves_the_voice_fit_for_the_next_utterance() -> None:
    endpoint = FakeEndpoint()
    async with Voice(endpoint.connect()) as voice:
        endpoint.pause()
        listener = asyncio.create_task(heard(voice.say(STORY)))
        await endpoint.speaking.wait()
        listener.cancel()
        await asyncio.wait({listener})
        endpoint.resume()
        events = await heard(voice.say("Something else."))

    assert listener.cancelled()
    assert audio(events) == fake_speech("Something else.")


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
    assert caught.value.retryable
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


async def test_an_utterance_that_is_over_takes_no_text() -> None:
    async with Voice(FakeEndpoint().connect()) as voice:
        async with voice.utterance() as utterance:
            await utterance.write("Hello there.")
            await utterance.end()
            with pytest.raises(VoiceClosedError, match="ended"):
                await utterance.write("More.")
            await heard(utterance)
        with pytest.raises(VoiceClosedError, match="over"):
            await utterance.write("More.")
        async with voice.utterance() as dropped:
            pass
        with pytest.raises(VoiceClosedError, match="closed"):
            await dropped.write("More.")
        assert await heard(dropped) == []


@pytest.mark.parametrize("text", ["", "   ", "😀", "…", "\n\n"])
async def test_text_without_words_makes_an_utterance_without_audio(text: str) -> None:
    endpoint = FakeEndpoint()
    async with Voice(endpoint.connect()) as voice:
        [event] = await heard(voice.say(text))
        await heard(voice.say("Words again."))

    assert isinstance(event, Finished)
    assert event.statistics.first_chunk_s is None
    assert endpoint.spoken == ["Words again."]


async def test_empty_tokens_and_lone_surrogates_do_no_harm() -> None:
    endpoint = FakeEndpoint()
    async with Voice(endpoint.connect()) as voice:
        await heard(voice.say(["", "Hel", "", "lo \ud83d", "\ude00 th\udc00ere.", ""]))

    assert endpoint.spoken == ["Hello 😀 th\ufffdere."]


async def test_a_hundred_thousand_words_are_spoken_completely() -> None:
    endpoint = FakeEndpoint(samples_per_character=1, chunk_samples=100_000)
    words = [f"word{number}{'.' if number % 10 == 9 else ''}" for number in range(100_000)]
    async with Voice(endpoint.connect()) as voice:
        async with asyncio.timeout(60):
            events = [event async for event in voice.say(" ".join(words))]

    assert " ".join(endpoint.spoken).split() == words
    assert len(audio(events)) == 2 * sum(map(len, endpoint.spoken))


async def test_too_many_open_utterances_are_refused() -> None:
    async with Voice(FakeEndpoint().connect()) as voice:
        utterances = [voice.utterance() for _ in range(256)]
        with pytest.raises(BacklogError, match="256"):
            voice.utterance()
        await utterances[0].aclose()
        await voice.utterance().aclose()


@pytest.fixture
def fake_scheme(monkeypatch: pytest.MonkeyPatch) -> FakeEndpoint:
    endpoint = FakeEndpoint()

    async def open_fake(target: str, options: ConnectOptions) -> Transport:
        if target != "fake:here":
            raise ConnectError("nobody there", retryable=True)
        return endpoint.connect()

    monkeypatch.setitem(targets._openers, "fake", open_fake)
    return endpoint


async def test_connect_can_be_awaited(fake_scheme: FakeEndpoint) -> None:
    voice = await connect("fake:here", voice="ryan")
    await heard(voice.say("Hello there."))
    await voice.aclose()

    assert fake_scheme.voices == ["ryan"]


async def test_connect_can_be_entered(fake_scheme: FakeEndpoint) -> None:
    async with connect("fake:here", language="English") as voice:
        events = await heard(voice.say("Hello there."))

    assert fake_scheme.received[0]["language"] == "English"
    assert fake_scheme.closed == 1
    assert isinstance(events[-1], Finished)
    assert events[-1].statistics.connect_s > 0


async def test_connect_raises_what_the_transport_raises(fake_scheme: FakeEndpoint) -> None:
    with pytest.raises(ConnectError):
        async with connect("fake:elsewhere"):
            raise AssertionError
    with pytest.raises(SpeechError):
        await connect("fake:elsewhere")


async def test_options_are_checked_before_anything_is_opened(fake_scheme: FakeEndpoint) -> None:
    with pytest.raises(OptionError, match="colour"):
        await connect("fake:elsewhere", colour="red")  # type: ignore[call-arg] # the point
    with pytest.raises(OptionError, match=r"speed=1\.0"):
        await connect("fake:elsewhere", speed=1.5)
