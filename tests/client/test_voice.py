import asyncio
from collections.abc import AsyncIterator, Callable, Iterator

import pytest
from tests.client.listening import SENTENCES, STORY, audio, heard

from antiphon.client.errors import TooManyUtterancesError, VoiceClosedError
from antiphon.client.events import Audio, Finished, UnitDone, UnitStarted
from antiphon.client.sources import TextSource
from antiphon.client.voice import Voice
from antiphon.testing.endpoint import FakeEndpoint, fake_speech

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("no_task_is_left")]


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


async def test_utterances_are_spoken_in_the_order_in_which_each_had_something_to_speak() -> None:
    endpoint = FakeEndpoint()
    async with Voice(endpoint.connect()) as voice, voice.utterance() as second, voice.utterance() as first:
        await first.write("The first one. And ")
        await second.write("The second one. ")
        await second.end()
        both = asyncio.gather(heard(first), heard(second))
        await first.write("more of it.")
        await first.end()
        heard_first, heard_second = await both

    assert endpoint.spoken == ["The first one.", "And more of it.", "The second one."]
    assert audio(heard_first) == fake_speech("The first one.") + fake_speech("And more of it.")
    assert audio(heard_second) == fake_speech("The second one.")


async def test_an_utterance_without_text_keeps_no_other_waiting() -> None:
    endpoint = FakeEndpoint()
    async with Voice(endpoint.connect()) as voice, voice.utterance() as forgotten:
        await forgotten.write("🙂 ")
        await heard(voice.say("Hello there."))
        await forgotten.write("Here I am. ")
        await forgotten.end()
        await heard(forgotten)

    assert endpoint.spoken == ["Hello there.", "🙂 Here I am."]


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
        with pytest.raises(TooManyUtterancesError, match="256"):
            voice.utterance()
        await utterances[0].aclose()
        await voice.utterance().aclose()
