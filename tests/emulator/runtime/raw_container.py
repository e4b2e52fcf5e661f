"""A container whose WebSocket does frame by frame what a test says, good or bad."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from websockets.frames import Frame, Opcode
from websockets.http11 import Request
from websockets.server import ServerProtocol


class Connection(asyncio.Protocol):
    """One WebSocket.

    Attributes:
        request: The handshake's.
        frames: Data and Close frames that came, in order.
        pings: How many came.
        pongs: How many came.
        mute: Whether pings get no pong.
        lost: Whether the connection is gone.
    """

    def __init__(self, container: "RawContainer") -> None:
        self._container = container
        self._websocket = ServerProtocol(max_size=None)
        self._lost = asyncio.Event()
        self.request: Request | None = None
        self.frames: asyncio.Queue[Frame] = asyncio.Queue()
        self.pings = 0
        self.pongs = 0
        self.mute = container.mute
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self._container.open.add(self)

    def data_received(self, data: bytes) -> None:
        self._websocket.receive_data(data)
        for event in self._websocket.events_received():
            if isinstance(event, Request):
                self._shake_hands(event)
            elif isinstance(event, Frame):
                self._take(event)
        self._flush()

    def _shake_hands(self, request: Request) -> None:
        self.request = request
        if self._container.silent:
            return
        if self._container.refuse_with is not None:
            self._websocket.send_response(self._websocket.reject(self._container.refuse_with, "no"))
            return
        self._websocket.send_response(self._websocket.accept(request))
        for frame in self._container.greeting:
            self._websocket.send_frame(frame)
        self._container.connections.put_nowait(self)

    def _take(self, frame: Frame) -> None:
        if frame.opcode is Opcode.PING:
            self.pings += 1
            if self.mute:
                self._websocket.data_to_send()
        elif frame.opcode is Opcode.PONG:
            self.pongs += 1
        else:
            self.frames.put_nowait(frame)

    def send(self, opcode: Opcode, data: bytes, *, fin: bool = True) -> None:
        self._websocket.send_frame(Frame(opcode, data, fin))
        self._flush()

    def write(self, data: bytes) -> None:
        """Bytes that are no WebSocket's."""
        assert self.transport is not None
        self.transport.write(data)

    def close(self, code: int, reason: str = "") -> None:
        self._websocket.send_close(code, reason)
        self._flush()

    def abort(self) -> None:
        assert self.transport is not None
        self.transport.abort()

    def pause(self) -> None:
        """Read nothing more."""
        assert self.transport is not None
        self.transport.pause_reading()

    def resume(self) -> None:
        assert self.transport is not None
        self.transport.resume_reading()

    @property
    def unsent(self) -> int:
        """Bytes that the runtime has not read."""
        assert self.transport is not None
        return self.transport.get_write_buffer_size()

    async def frame(self) -> Frame:
        """The next frame."""
        async with asyncio.timeout(5):
            return await self.frames.get()

    async def gone(self) -> None:
        async with asyncio.timeout(5):
            await self._lost.wait()

    def eof_received(self) -> None:
        self._websocket.receive_eof()
        self._flush()

    def connection_lost(self, exc: Exception | None) -> None:
        self._lost.set()
        self._container.open.discard(self)

    def _flush(self) -> None:
        assert self.transport is not None
        for data in self._websocket.data_to_send():
            if data:
                self.transport.write(data)
            else:
                self.transport.close()


class RawContainer:
    """Where the WebSockets arrive.

    Attributes:
        url: Where it listens.
        refuse_with: The status of every handshake's answer, if it is to be refused.
        silent: Whether handshakes get no answer.
        mute: Whether pings get no pong.
        greeting: Frames that are sent with the answer to a handshake.
        connections: Those whose handshake succeeded.
        open: All that are there.
    """

    def __init__(self) -> None:
        self.url = ""
        self.refuse_with: int | None = None
        self.silent = False
        self.mute = False
        self.greeting: tuple[Frame, ...] = ()
        self.connections: asyncio.Queue[Connection] = asyncio.Queue()
        self.open: set[Connection] = set()

    async def connected(self) -> Connection:
        """The next WebSocket."""
        async with asyncio.timeout(5):
            return await self.connections.get()


@asynccontextmanager
async def raw_container() -> AsyncIterator[RawContainer]:
    container = RawContainer()
    server = await asyncio.get_running_loop().create_server(lambda: Connection(container), "127.0.0.1", 0)
    container.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield container
    finally:
        server.close()
        for connection in tuple(container.open):
            connection.abort()
        await server.wait_closed()
