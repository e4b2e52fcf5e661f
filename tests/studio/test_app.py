"""The page's application on a real socket."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator

import httpx
import pytest
from starlette.routing import Mount
from tests.studio.conftest import Serving
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.typing import Origin

from antiphon.engines.tone import tone_pcm

pytest.importorskip("gradio", reason="needs Gradio: pip install 'antiphon[ui]'")

from gradio.routes import App

from antiphon.studio.app import create_app
from antiphon.studio.messages import MAX_MESSAGE_BYTES

pytestmark = pytest.mark.anyio


@pytest.fixture
async def url(serving: Serving) -> AsyncIterator[str]:
    async with serving("local:tone") as address:
        yield address


def bridge_of(url: str, origin: str | None) -> connect:
    return connect(
        f"{url.replace('http', 'ws')}/antiphon/speech", proxy=None, origin=None if origin is None else Origin(origin)
    )


async def test_it_serves_the_page_its_scripts_and_its_bridge(url: str) -> None:
    async with httpx.AsyncClient(base_url=url, trust_env=False) as client:
        page = await client.get("/")
        scripts = {name: await client.get(f"/antiphon/{name}.js") for name in ("page", "player", "speech", "worklet")}
        posted = await client.post("/gradio_api/upload", files={"files": b"x"})
        renamed = await client.get("/", headers={"host": "evil.example"})
    assert page.status_code == 200
    assert "antiphon/page.js" in page.text
    assert "ryan" in page.text
    assert "googleapis" not in page.text
    for script in scripts.values():
        assert script.status_code == 200
        assert "javascript" in script.headers["content-type"]
        assert script.headers["cache-control"] == "no-cache"
    assert posted.status_code == 403
    assert renamed.status_code == 403

    async with bridge_of(url, url) as websocket:
        await websocket.send(json.dumps({"type": "speak", "id": 1, "text": "Hello."}))
        received = [await websocket.recv()]
        async with asyncio.timeout(10):
            while isinstance(received[-1], bytes) or json.loads(received[-1])["type"] != "finished":
                received.append(await websocket.recv())
    assert b"".join(chunk for chunk in received if isinstance(chunk, bytes)) == tone_pcm("Hello.")


async def test_it_keeps_others_out_and_messages_small(url: str) -> None:
    for origin in ("http://evil.example", None):
        with pytest.raises(InvalidStatus) as refused:
            async with bridge_of(url, origin):
                pass
        assert refused.value.response.status_code == 403
    async with bridge_of(url, url) as websocket:
        await websocket.send("x" * (MAX_MESSAGE_BYTES + 1))
        with pytest.raises(ConnectionClosed) as closed:
            await websocket.recv()
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1009


async def test_nothing_is_asked_of_gradios_makers(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("something wants to be reached")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    app = create_app("local:tone")
    (mounted,) = [route.app for route in app.routes if isinstance(route, Mount) and isinstance(route.app, App)]
    blocks = mounted.get_blocks()
    assert not blocks.analytics_enabled
    assert not blocks.run_history
    assert not blocks.share
    assert blocks.theme is not None
    assert blocks.theme._stylesheets == []
