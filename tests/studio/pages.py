"""A page without a browser or a socket, and speech servers for it."""

import asyncio
import json
from collections.abc import AsyncIterator, MutableMapping
from contextlib import asynccontextmanager, suppress
from typing import Any

from starlette.websockets import WebSocket

from antiphon.client import targets
from antiphon.client.targets import ConnectOptions
from antiphon.client.transport import Transport
from antiphon.studio.bridge import Bridge
from antiphon.testing import FakeEndpoint

TARGET = "studio-test:"
PATIENCE_S = 10.0


def reach(endpoint: FakeEndpoint) -> str:
    """Let a target lead to the endpoint, and return it."""

    async def open_it(target: str, options: ConnectOptions) -> Transport:
        return endpoint.connect()

    targets.register(TARGET.rstrip(":"), open_it)
    return TARGET


class Page:
    """What a browser would be to a bridge; `taking` is cleared for one that reads nothing."""

    def __init__(self, bridge: Bridge) -> None:
        self.taking = asyncio.Event()
        self.taking.set()
        self.received: list[dict[str, Any] | bytes] = []
        self.close_code: int | None = None
        self._to_bridge: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._changed = asyncio.Event()
        self._to_bridge.put_nowait({"type": "websocket.connect"})
        websocket = WebSocket({"type": "websocket", "path": "/", "headers": []}, self._to_bridge.get, self._send)
        self.served = asyncio.create_task(bridge.serve(websocket), name="bridge")

    async def _send(self, message: MutableMapping[str, Any]) -> None:
        await self.taking.wait()
        if message["type"] == "websocket.send":
            text = message.get("text")
            self.received.append(message["bytes"] if text is None else json.loads(text))
        elif message["type"] == "websocket.close":
            self.close_code = message["code"]
        self._changed.set()

    def speak(self, text: str, number: int = 1, **fields: Any) -> None:
        self.send({"type": "speak", "id": number, "text": text, **fields})

    def send(self, message: Any) -> None:
        self.send_raw(text=json.dumps(message))

    def send_raw(self, **fields: Any) -> None:
        self._to_bridge.put_nowait({"type": "websocket.receive", **fields})

    def leave(self) -> None:
        self._to_bridge.put_nowait({"type": "websocket.disconnect", "code": 1001})

    async def until(self, kind: str, number: int | None = None) -> dict[str, Any]:
        """Wait for an event of this type, and of this utterance if one is given."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                for message in self.events():
                    if message["type"] == kind and number in {None, message["id"]}:
                        return message
                self._changed.clear()
                await self._changed.wait()

    def events(self) -> list[dict[str, Any]]:
        return [message for message in self.received if not isinstance(message, bytes)]

    def audio(self) -> bytes:
        return b"".join(message for message in self.received if isinstance(message, bytes))


@asynccontextmanager
async def opened(bridge: Bridge) -> AsyncIterator[Page]:
    """A page that is open, and then leaves."""
    page = Page(bridge)
    try:
        yield page
    finally:
        page.taking.set()
        page.leave()
        with suppress(asyncio.CancelledError):
            async with asyncio.timeout(PATIENCE_S):
                await page.served
