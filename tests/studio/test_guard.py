"""Who may use the page's server: its own page, by names that nobody else can own."""

import socket
from typing import Any

import pytest
from starlette.responses import PlainTextResponse
from starlette.types import Message, Receive, Scope, Send

from antiphon.studio.guard import POLICY, Guard

pytestmark = pytest.mark.anyio

HERE = "127.0.0.1:7860"
OURS = "http://127.0.0.1:7860"


async def inner(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.accept"})
    else:
        await PlainTextResponse("hello")(scope, receive, send)


async def ask(kind: str = "http", method: str = "GET", **headers: str | None) -> Message:
    """The first thing that comes back for a request with these headers."""
    sent: list[Message] = []
    scope: dict[str, Any] = {
        "type": kind,
        "path": "/",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items() if value is not None],
        "extensions": {"websocket.http.response": {}},
    }
    if kind == "http":
        scope["method"] = method

    async def receive() -> Message:
        raise AssertionError("nothing is read")

    async def send(message: Message) -> None:
        sent.append(message)

    await Guard(inner, "studio.example")(scope, receive, send)
    return sent[0]


@pytest.mark.parametrize(
    "host",
    [
        HERE,
        "localhost:7860",
        "LOCALHOST",
        "antiphon.localhost",
        "[::1]:7860",
        "192.0.2.7:80",
        "studio.example",
        socket.gethostname(),
    ],
)
async def test_names_that_nobody_else_can_own(host: str) -> None:
    assert (await ask(host=host))["status"] == 200
    assert (await ask("websocket", host=host, origin=f"http://{host}"))["type"] == "websocket.accept"


@pytest.mark.parametrize(
    "host", [None, "", "evil.example", "evil.example:7860", "127.0.0.1.evil.example", "[::1", "a b"]
)
async def test_other_names_are_refused_against_rebinding(host: str | None) -> None:
    assert (await ask(host=host))["status"] == 403
    refused = await ask("websocket", host=host, origin=f"http://{host}")
    assert (refused["type"], refused["status"]) == ("websocket.http.response.start", 403)


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "http://127.0.0.1:7861",
        "http://127.0.0.1",
        "http://localhost:7860",
        "http://evil.example/127.0.0.1:7860",
        "http://127.0.0.1:7860@evil.example",
        "null",
        "",
        "http://[",
    ],
)
async def test_other_sites_are_refused_against_hijacking(origin: str) -> None:
    assert (await ask("websocket", host=HERE, origin=origin))["status"] == 403
    assert (await ask(host=HERE, origin=origin))["status"] == 403


async def test_a_websocket_says_where_it_comes_from() -> None:
    assert (await ask("websocket", host=HERE))["status"] == 403
    assert (await ask("websocket", host=HERE, origin=OURS))["type"] == "websocket.accept"
    assert (await ask("websocket", host=HERE, origin=OURS.replace("http:", "https:")))["type"] == "websocket.accept"


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
async def test_nothing_is_taken_over_http(method: str) -> None:
    assert (await ask(method=method, host=HERE))["status"] == 403


async def test_the_page_loads_nothing_from_elsewhere() -> None:
    headers = dict((await ask(host=HERE))["headers"])
    assert headers[b"content-security-policy"].decode() == POLICY
    assert "http" not in POLICY
    assert "*" not in POLICY
