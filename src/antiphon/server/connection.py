"""The one face that a session sees of whoever is at the other end."""

import asyncio
from typing import Any, Protocol, Self

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

    A context manager: at its end it takes its timer along.

    Args:
        websocket: accepted already.
        send_timeout_s: how long a peer may take to make room; a peer that never reads costs bounded memory and time.
    """

    def __init__(self, websocket: WebSocket, send_timeout_s: float) -> None:
        self._websocket = websocket
        self._send_timeout_s = send_timeout_s
        self._loop = asyncio.get_running_loop()
        self._sender: asyncio.Task[Any] | None = None
        self._due_at = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._timer is not None:
            self._timer.cancel()

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
        self._sender, self._due_at = asyncio.current_task(), self._loop.time() + self._send_timeout_s
        self._arm()
        try:
            await self._websocket.send({"type": "websocket.send", key: data})
        except (WebSocketDisconnect, RuntimeError):  # RuntimeError: starlette, when the close has been seen already
            raise ConnectionLostError("the client is gone") from None
        except asyncio.CancelledError:
            # Ours if the time is over, and somebody else's as well if that leaves the task cancelled.
            if self._timer is not None or self._sender is None or self._sender.uncancel():
                raise
            raise ConnectionLostError("the client does not receive") from None
        finally:
            self._sender = None

    # One timer for all sends, which only looks again when it rings: one for each would cost more than the sends do.

    def _arm(self) -> None:
        if self._timer is None:
            self._timer = self._loop.call_at(self._due_at, self._look)

    def _look(self) -> None:
        self._timer = None
        if self._sender is None:
            return
        if self._loop.time() < self._due_at:
            self._arm()
        else:
            self._sender.cancel()

    async def close(self, code: int, reason: str) -> None:
        """As `Connection.close`; a peer that is gone is closed already."""
        if self._websocket.application_state is not WebSocketState.CONNECTED:
            return
        try:
            async with asyncio.timeout(self._send_timeout_s):
                await self._websocket.close(code, reason)
        except (WebSocketDisconnect, RuntimeError, TimeoutError):
            return
