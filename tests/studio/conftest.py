"""The page as served, and a real browser to open it in."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest
from playwright.async_api import Browser, async_playwright

from antiphon.studio.runner import listen, serve

type Serving = Callable[[str], AbstractAsyncContextManager[str]]

# Headless and without a sound device; it may sound without a click, and does nothing of its own in the background.
FLAGS = (
    "--no-sandbox",
    "--autoplay-policy=no-user-gesture-required",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-domain-reliability",
    "--disable-sync",
    "--no-default-browser-check",
    "--no-first-run",
    "--no-pings",
    "--no-proxy-server",
)


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """As everywhere, but with one event loop for a module, so that its tests can share a browser."""
    return "asyncio"


@pytest.fixture(scope="module")
def serving() -> Serving:
    """Serves the page for a target, and gives its address."""
    pytest.importorskip("gradio", reason="needs Gradio: pip install 'antiphon[ui]'")
    from antiphon.studio.app import create_app  # noqa: PLC0415 - an extra

    @asynccontextmanager
    async def served(target: str) -> AsyncIterator[str]:
        sock = listen("127.0.0.1", 0)
        address = f"http://127.0.0.1:{sock.getsockname()[1]}"
        ready = asyncio.Event()
        running = asyncio.create_task(serve(create_app(target, voices=["ryan"]), target, sock, ready.set))
        async with asyncio.timeout(20):
            await ready.wait()
        try:
            yield address
        finally:
            running.cancel()
            async with asyncio.timeout(5):
                await asyncio.wait({running})
        assert running.cancelled()
        assert sock.fileno() == -1

    return served


@pytest.fixture(scope="module")
async def browser(anyio_backend: str) -> AsyncIterator[Browser]:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("needs Chromium: apt-get install chromium")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium, headless=True, args=list(FLAGS))
        try:
            yield browser
        finally:
            await browser.close()
