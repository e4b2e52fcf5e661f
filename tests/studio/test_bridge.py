"""A page's utterances, one at a time, and what happens when it or the server does not behave."""

import asyncio
import logging

import pytest
from tests.studio.pages import PATIENCE_S, Page, opened, reach

from antiphon.studio.bridge import Bridge
from antiphon.studio.messages import MAX_TEXT
from antiphon.testing import FakeEndpoint, fake_speech

pytestmark = pytest.mark.anyio

TEXT = "Once upon a time there was a king. He had three daughters."
SENTENCES = ["Once upon a time there was a king.", "He had three daughters."]
BUSY = "8 listeners are speaking, which is all this server can keep gap-free"


async def test_it_speaks_with_markers_and_every_byte() -> None:
    endpoint = FakeEndpoint(sample_rate=16_000)
    async with opened(Bridge(reach(endpoint))) as page:
        page.speak(TEXT, 5, voice="vivian", language="English")
        finished = await page.until("finished")
    kinds = [event["type"] for event in page.events()]
    assert kinds == ["unit_started", "unit_done", "unit_started", "unit_done", "finished"]
    assert [event["text"] for event in page.events() if event["type"] == "unit_started"] == SENTENCES
    assert {event["id"] for event in page.events()} == {5}
    assert page.events()[0]["sample_rate"] == 16_000
    assert page.audio() == b"".join(map(fake_speech, SENTENCES))
    assert finished["statistics"]["bytes"] == len(page.audio())
    assert endpoint.voices == ["vivian", "vivian"]
    assert endpoint.received[0]["language"] == "English"


async def test_a_unit_is_announced_before_its_audio_and_done_after_it() -> None:
    async with opened(Bridge(reach(FakeEndpoint()))) as page:
        page.speak("Hello.")
        await page.until("finished")
    first, *audio, done, last = page.received
    assert isinstance(first, dict)
    assert isinstance(done, dict)
    assert isinstance(last, dict)
    assert audio
    assert all(isinstance(chunk, bytes) for chunk in audio)
    assert [first["type"], done["type"], last["type"]] == ["unit_started", "unit_done", "finished"]


async def test_names_left_empty_are_the_servers_choice() -> None:
    endpoint = FakeEndpoint()
    async with opened(Bridge(reach(endpoint))) as page:
        page.speak("Hello.", voice="", language="")
        await page.until("finished")
    assert endpoint.voices == [None]


async def test_the_text_can_come_at_the_pace_of_a_language_model() -> None:
    async with opened(Bridge(reach(FakeEndpoint()))) as page:
        page.speak("One two three four five six.", tokens_per_second=50)
        finished = await page.until("finished")
    # Nine tokens: eight intervals of 20 ms.
    assert finished["statistics"]["text_complete_s"] >= 0.1


async def test_a_new_utterance_takes_the_place_of_the_one_before() -> None:
    endpoint = FakeEndpoint()
    endpoint.pause()
    async with opened(Bridge(reach(endpoint))) as page:
        page.speak(TEXT, 1)
        await page.until("unit_started", 1)
        page.speak("Hello.", 2)
        await page.until("unit_started", 2)
        assert endpoint.closed == 1
        endpoint.resume()
        await page.until("finished", 2)
    ids = [event["id"] for event in page.events()]
    assert ids == sorted(ids)
    assert page.audio() == fake_speech("Hello.")


async def test_stop_ends_it_at_once_and_the_page_can_speak_again() -> None:
    endpoint = FakeEndpoint()
    endpoint.pause()
    async with opened(Bridge(reach(endpoint))) as page:
        page.speak(TEXT, 1)
        await page.until("unit_started")
        page.send({"type": "stop"})
        page.send({"type": "stop"})
        page.speak("Hello.", 2)
        await page.until("unit_started", 2)
        assert endpoint.closed == 1
        endpoint.resume()
        await page.until("finished", 2)
    assert page.audio() == fake_speech("Hello.")


async def test_a_page_that_leaves_ends_its_utterance() -> None:
    endpoint = FakeEndpoint()
    endpoint.pause()
    bridge = Bridge(reach(endpoint))
    async with opened(bridge) as page:
        page.speak(TEXT)
        await page.until("unit_started")
        assert bridge.pages == 1
    assert endpoint.closed == 1
    assert bridge.pages == 0


async def test_a_page_that_takes_nothing_holds_little_and_not_for_long() -> None:
    second = 24_000
    endpoint = FakeEndpoint(samples_per_character=second, chunk_samples=second)
    bridge = Bridge(reach(endpoint), send_timeout_s=0.3)
    page = Page(bridge)
    page.speak("This sentence is spoken for half a minute. " * 100)
    await page.until("unit_started")
    page.taking.clear()
    async with asyncio.timeout(PATIENCE_S):
        await page.served
    # A unit is 2 MB, and none is asked for while one waits to be heard.
    assert len(endpoint.spoken) <= 3
    assert endpoint.closed == 1
    assert bridge.pages == 0


async def test_no_more_pages_than_may_be() -> None:
    bridge = Bridge(reach(FakeEndpoint()), max_pages=1)
    async with opened(bridge) as first:
        first.speak("Hello.")
        await first.until("finished")
        second = Page(bridge)
        async with asyncio.timeout(PATIENCE_S):
            await second.served
        assert "1 pages are connected" in (await second.until("error"))["message"]
        assert second.close_code == 1013
    async with opened(bridge) as third:
        third.speak("Hello.")
        await third.until("finished")


async def test_a_server_that_is_not_there_is_a_sentence() -> None:
    async with opened(Bridge("ws://127.0.0.1:1")) as page:
        page.speak("Hello.", 4)
        error = await page.until("error")
    assert error["id"] == 4
    assert error["message"].startswith("cannot reach ws://127.0.0.1:1/")
    assert error["retryable"]


async def test_a_server_that_is_full_is_a_sentence_and_the_page_can_try_again() -> None:
    endpoint = FakeEndpoint(fail=lambda _text: BUSY)
    async with opened(Bridge(reach(endpoint))) as page:
        page.speak("Hello.", 1)
        error = await page.until("error")
        assert BUSY in error["message"]
        assert error["retryable"]
        endpoint.fail = lambda _text: None
        page.speak("Hello.", 2)
        await page.until("finished", 2)


async def test_text_without_a_word_finishes_without_audio() -> None:
    async with opened(Bridge(reach(FakeEndpoint()))) as page:
        page.speak("")
        assert (await page.until("finished"))["statistics"]["chunks"] == 0


async def test_what_is_no_request_is_a_sentence_and_stops_nothing() -> None:
    endpoint = FakeEndpoint()
    endpoint.pause()
    async with opened(Bridge(reach(endpoint))) as page:
        page.speak("Hello.", 1)
        await page.until("unit_started")
        page.speak("x" * (MAX_TEXT + 1), 2)
        error = await page.until("error")
        assert error["id"] is None
        assert "text" in error["message"]
        endpoint.resume()
        await page.until("finished", 1)


async def test_binary_messages_are_not_for_bridges() -> None:
    page = Page(Bridge(reach(FakeEndpoint())))
    page.send_raw(bytes=b"sound")
    async with asyncio.timeout(PATIENCE_S):
        await page.served
    assert page.close_code == 1003


async def test_no_text_in_the_logs(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    endpoint = FakeEndpoint(fail=lambda text: "no" if "broken" in text else None)
    async with opened(Bridge(reach(endpoint))) as page:
        page.speak("A secret sentence. A broken secret.")
        await page.until("error")
        page.send({"type": "secret"})
        page.speak("x" * 9000 + "secret")
    assert "secret" not in caplog.text
