"""The page in a real browser: what is typed is spoken, and every sample of it is rendered."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from playwright.async_api import Browser, Page, Request
from tests.studio.conftest import Serving

from antiphon.engines.tone import tone_length
from antiphon.server.child import child_server

pytestmark = [pytest.mark.anyio, pytest.mark.compat]

TEXT = "One fine day. A short tale of a secret."
SENTENCES = ["One fine day.", "A short tale of a secret."]
LONG = "This sentence will be stopped while it is being spoken, because it is far too long to wait for its end."
PATIENCE_MS = 30_000


class Opened:
    """The page, as its reader sees and uses it."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.requests: list[Request] = []
        self.complaints: list[str] = []
        page.set_default_timeout(PATIENCE_MS)
        page.on("request", lambda request: self.requests.append(request))  # noqa: PLW0108 - a built-in it cannot mark
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("console", lambda said: self.complaints.append(said.text) if said.type == "error" else None)

    async def speak(self, text: str) -> None:
        await self.page.fill("#antiphon-text textarea", text)
        await self.page.click("#antiphon-speak")

    async def until(self, state: str) -> str:
        await self.page.wait_for_selector(f"#antiphon-status[data-state={state}]")
        return await self.page.inner_text("#antiphon-status")

    async def figure(self, name: str) -> str:
        return await self.page.inner_text(f"#antiphon [data-figure={name}]")

    async def markers(self) -> list[tuple[str, str]]:
        rows = [await row.locator("span").all_inner_texts() for row in await self.page.locator("#antiphon li").all()]
        return [(name, detail) for _, name, detail in rows]

    async def measure(self) -> dict[str, Any]:
        measured: dict[str, Any] = await self.page.evaluate("window.antiphon.measure()")
        return measured


@asynccontextmanager
async def opened(browser: Browser, url: str) -> AsyncIterator[Opened]:
    context = await browser.new_context()
    it = Opened(await context.new_page())
    await it.page.goto(url)
    await it.page.wait_for_function("window.antiphon && document.querySelector('#antiphon-status')")
    yield it
    await context.close()


@asynccontextmanager
async def speaking_server() -> AsyncIterator[str]:
    async with child_server("--engine", "tone") as url:
        yield url.replace("http", "ws", 1)


async def test_it_renders_every_sample_and_shows_every_figure(browser: Browser, serving: Serving) -> None:
    samples = sum(map(tone_length, SENTENCES))
    async with speaking_server() as target, serving(target) as url, opened(browser, url) as it:
        await it.speak(TEXT)
        await it.until("speaking")
        assert await it.until("ready") == "Done."

        measured = await it.measure()
        assert measured["rendered"] == measured["fed"] == samples
        assert measured["sampleRate"] == 24_000
        assert await it.figure("bytes") == f"{2 * samples:,}"
        assert int(await it.figure("chunks")) >= samples // (24_000 * 2)
        assert await it.figure("received") == await it.figure("played") == f"{samples / 24_000:.1f} s"
        assert await it.figure("underruns") == str(measured["underruns"])
        assert await it.figure("format") == "PCM 24 kHz"
        assert re.fullmatch(r"\d{1,3}(,\d{3})* ms", await it.figure("first_sound"))

        *units, (last, summary) = await it.markers()
        assert [name for name, _ in units] == ["Unit 0 started", "Unit 0 done", "Unit 1 started", "Unit 1 done"]
        assert [text for name, text in units if "started" in name] == SENTENCES
        assert last == "Finished"
        assert summary.startswith(f"2 units, {samples / 24_000:.1f} s of speech, ")

        await it.speak("Again.")
        await it.page.wait_for_function("document.querySelector('#antiphon-markers').textContent.includes('Again.')")
        assert await it.until("ready") == "Done."
        assert (await it.measure())["rendered"] == samples + tone_length("Again.")
        assert await it.figure("bytes") == f"{2 * tone_length('Again.'):,}"

        assert it.complaints == []
        assert {request.method for request in it.requests} == {"GET"}
        assert [request.url for request in it.requests if not request.url.startswith((url, "data:", "blob:"))] == []
        assert not [request.url for request in it.requests if "secret" in request.url]
        kept = "JSON.stringify([localStorage, sessionStorage, document.cookie])"
        assert "secret" not in await it.page.evaluate(kept)
        assert await it.page.evaluate("indexedDB.databases()") == []


async def test_stop_is_heard_at_once_and_it_speaks_again(browser: Browser, serving: Serving) -> None:
    async with serving("local:tone") as url, opened(browser, url) as it:
        await it.speak(LONG)
        await it.until("speaking")
        await it.page.click("#antiphon-stop")
        assert await it.until("ready") == "Stopped."
        await it.page.wait_for_function("window.antiphon.measure().then((now) => now.buffered === 0 && !now.playing)")
        stopped = await it.measure()
        assert stopped["rendered"] + stopped["flushed"] == stopped["fed"]
        assert stopped["flushed"] > 0
        assert (await it.markers())[-1][0] == "Stopped"

        await it.speak("Again.")
        await it.until("speaking")
        assert await it.until("ready") == "Done."
        again = await it.measure()
        assert again["rendered"] == stopped["rendered"] + tone_length("Again.")
        assert again["flushed"] == stopped["flushed"]
        assert it.complaints == []


async def test_speaking_takes_the_place_of_what_is_being_said(browser: Browser, serving: Serving) -> None:
    async with serving("local:tone") as url, opened(browser, url) as it:
        await it.speak(LONG)
        await it.until("speaking")
        await it.speak("Instead.")
        assert await it.until("ready") == "Done."
        texts = [text for name, text in await it.markers() if "started" in name]
        measured = await it.measure()
        assert texts == ["Instead."]
        assert measured["rendered"] + measured["flushed"] == measured["fed"]
        assert await it.figure("played") == f"{tone_length('Instead.') / 24_000:.1f} s"


async def test_errors_are_sentences_and_nothing_more(browser: Browser, serving: Serving) -> None:
    async with serving("ws://127.0.0.1:1") as url, opened(browser, url) as it:
        await it.speak("Hello.")
        assert (await it.until("error")).startswith("Cannot reach ws://127.0.0.1:1/")
        await it.speak(" ")
        await it.page.wait_for_function(
            "document.querySelector('#antiphon-status').textContent.startsWith('There is no')"
        )
        assert it.complaints == []


async def test_a_target_at_the_beginning_of_an_error_is_spelled_as_it_is(browser: Browser, serving: Serving) -> None:
    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(refuse, "127.0.0.1", 0) as server:
        target = f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with serving(target) as url, opened(browser, url) as it:
            await it.speak("Hello.")
            assert (await it.until("error")).startswith(f"{target}/")


async def test_it_says_when_its_own_server_is_gone(browser: Browser, serving: Serving) -> None:
    async with serving("local:tone") as url:
        opening = opened(browser, url)
        it = await opening.__aenter__()
        await it.speak("Hello.")
        assert await it.until("ready") == "Done."
    await it.speak("Hello.")
    assert (await it.until("error")).startswith("The page's own server cannot be reached.")
    await opening.__aexit__(None, None, None)
