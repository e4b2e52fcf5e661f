"""The one face that a session sees of whoever is at the other end."""

import asyncio
from typing import Protocol

from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState


class ConnectionLostError(Exception):
    """The peer is gone, or does not take what is sent to it."""


class Connection(Protocol):
    """A message channel to a client."""

    async def receive(self) -> str | bytes | None:
        """Return the next message (str for text, bytes for binary); None once the peer is gone."""
        ...

    async def send(self, data: str | bytes) -> None:
        """Send a message; returns when the peer has room for more.

        Raises:
            ConnectionLostError: the peer is gone.
        """
        ...

    async def close(self, code: int, reason: str) -> None:
        """Send a close frame."""
        ...


class WebSocketConnection:
    """A connection over an accepted WebSocket.

    Args:
        websocket: accepted already.
        send_timeout_s: how long a peer may take to make room; a peer that never reads costs bounded memory and time.
    """

    def __init__(self, websocket: WebSocket, send_timeout_s: float) -> None:
        self._websocket = websocket
        self._send_timeout_s = send_timeout_s

    async def receive(self) -> str | bytes | None:
        """As `Connection.receive`."""
        message = await self._websocket.receive()
        if message["type"] == "websocket.disconnect":
            return None
        text = message.get("text")
        data: str | bytes = text if text is not None else message["bytes"]
        return data

    async def send(self, data: str | bytes) -> None:
        """As `Connection.send`."""
        key = "text" if isinstance(data, str) else "bytes"
        try:
            async with asyncio.timeout(self._send_timeout_s):
                await self._websocket.send({"type": "websocket.send", key: data})
        except (WebSocketDisconnect, RuntimeError):  # RuntimeError: starlette, when the close has been seen already
            raise ConnectionLostError("the client is gone") from None
        except TimeoutError:
            raise ConnectionLostError("the client does not receive") from None

    async def close(self, code: int, reason: str) -> None:
        """As `Connection.close`; a peer that is gone is closed already."""
        if self._websocket.application_state is not WebSocketState.CONNECTED:
            return
        try:
            async with asyncio.timeout(self._send_timeout_s):
                await self._websocket.close(code, reason)
        except (WebSocketDisconnect, RuntimeError, TimeoutError):
            return
