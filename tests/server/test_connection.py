import asyncio
from typing import Any

import pytest
from starlette.websockets import WebSocket, WebSocketDisconnect

from antiphon.server.connection import ConnectionLostError, WebSocketConnection

pytestmark = pytest.mark.anyio


class Peer:
    """The other end of an ASGI connection."""

    def __init__(self, error: Exception | None = None) -> None:
        self.takes = asyncio.Event()
        self.takes.set()
        self.error = error
        self.incoming: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.got: list[Any] = []

    async def receive(self) -> Any:
        return await self.incoming.get()

    async def send(self, message: Any) -> None:
        await self.takes.wait()
        if self.error is not None:
            raise self.error
        self.got.append(message)


async def connected(peer: Peer, timeout_s: float = 5.0) -> WebSocketConnection:
    websocket = WebSocket({"type": "websocket", "headers": []}, peer.receive, peer.send)
    peer.incoming.put_nowait({"type": "websocket.connect"})
    error, peer.error = peer.error, None
    await websocket.accept()
    peer.error = error
    peer.got.clear()
    return WebSocketConnection(websocket, timeout_s)


async def test_text_and_binary_travel_both_ways() -> None:
    peer = Peer()
    connection = await connected(peer)
    peer.incoming.put_nowait({"type": "websocket.receive", "text": ""})
    peer.incoming.put_nowait({"type": "websocket.receive", "bytes": b""})
    peer.incoming.put_nowait({"type": "websocket.disconnect", "code": 1006})
    assert [await connection.receive() for _ in range(3)] == ["", b"", None]
    peer = Peer()
    connection = await connected(peer)
    await connection.send("said")
    await connection.send(b"heard")
    await connection.close(1000, "over")
    assert peer.got == [
        {"type": "websocket.send", "text": "said"},
        {"type": "websocket.send", "bytes": b"heard"},
        {"type": "websocket.close", "code": 1000, "reason": "over"},
    ]


async def test_a_peer_that_makes_no_room_in_time_is_lost() -> None:
    peer = Peer()
    connection = await connected(peer, timeout_s=0.05)
    peer.takes.clear()
    with pytest.raises(ConnectionLostError, match="does not receive"):
        await connection.send("said")
    async with asyncio.timeout(2):
        await connection.close(1011, "internal error")


@pytest.mark.parametrize("error", [OSError("gone"), WebSocketDisconnect(1006), RuntimeError("after close")])
async def test_a_peer_that_is_gone_is_lost_and_needs_no_closing(error: Exception) -> None:
    connection = await connected(Peer(error))
    with pytest.raises(ConnectionLostError, match="is gone"):
        await connection.send("said")
    await connection.close(1000, "over")
    await connection.close(1000, "over")
