import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
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


@asynccontextmanager
async def connected(peer: Peer, timeout_s: float = 5.0) -> AsyncIterator[WebSocketConnection]:
    websocket = WebSocket({"type": "websocket", "headers": []}, peer.receive, peer.send)
    peer.incoming.put_nowait({"type": "websocket.connect"})
    error, peer.error = peer.error, None
    await websocket.accept()
    peer.error = error
    peer.got.clear()
    with WebSocketConnection(websocket, timeout_s) as connection:
        yield connection
    loop: Any = asyncio.get_running_loop()
    assert [handle for handle in loop._scheduled if not handle.cancelled() and "WebSocketConn" in repr(handle)] == []


async def test_text_and_binary_travel_both_ways() -> None:
    peer = Peer()
    async with connected(peer) as connection:
        peer.incoming.put_nowait({"type": "websocket.receive", "text": ""})
        peer.incoming.put_nowait({"type": "websocket.receive", "bytes": b""})
        peer.incoming.put_nowait({"type": "websocket.disconnect", "code": 1006})
        assert [await connection.receive() for _ in range(3)] == ["", b"", None]
    peer = Peer()
    async with connected(peer) as connection:
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
    async with connected(peer, timeout_s=0.05) as connection:
        peer.takes.clear()
        with pytest.raises(ConnectionLostError, match="does not receive"):
            await connection.send("said")
        assert asyncio.current_task().cancelling() == 0  # type: ignore[union-attr]  # this runs in a task
        async with asyncio.timeout(2):
            await connection.close(1011, "internal error")


async def test_every_send_has_the_whole_time_for_itself() -> None:
    peer = Peer()
    clock = asyncio.get_running_loop().time
    async with connected(peer, timeout_s=0.1) as connection:
        await connection.send("said")
        await asyncio.sleep(0.06)
        peer.takes.clear()
        begun = clock()
        with pytest.raises(ConnectionLostError, match="does not receive"):
            await connection.send("said")
        assert 0.1 <= clock() - begun < 2


async def test_a_send_can_be_cancelled_and_is_so_even_at_the_moment_its_time_is_over() -> None:
    for late in (False, True):
        peer = Peer()
        async with connected(peer) as connection:
            peer.takes.clear()
            sending = asyncio.create_task(connection.send("said"))
            await asyncio.sleep(0)
            if late:
                connection._due_at = 0.0
                connection._timer.cancel()  # type: ignore[union-attr]  # it is set
                connection._look()
            sending.cancel()
            with pytest.raises(asyncio.CancelledError):
                await sending


@pytest.mark.parametrize("error", [OSError("gone"), WebSocketDisconnect(1006), RuntimeError("after close")])
async def test_a_peer_that_is_gone_is_lost_and_needs_no_closing(error: Exception) -> None:
    async with connected(Peer(error)) as connection:
        with pytest.raises(ConnectionLostError, match="is gone"):
            await connection.send("said")
        await connection.close(1000, "over")
        await connection.close(1000, "over")
