"""The server in three depths: a session on a connection in memory, the application without a socket, all of it."""

import asyncio
import json
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx
from starlette.applications import Starlette
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from antiphon.engines.contract import Engine
from antiphon.engines.tone import ToneEngine
from antiphon.server.app import create_app
from antiphon.server.connection import ConnectionLostError
from antiphon.server.runner import listen, serve
from antiphon.server.settings import ServerSettings
from antiphon.server.state import ServerState
from antiphon.server.stream import serve_session
from antiphon.testing.engines import GatedEngine

STREAM = "/v1/audio/speech/stream"
STREAMED = {"response_format": "pcm", "stream_audio": True}
DONE = {"type": "input.done"}
CLOSE = {"type": "session.close"}


def config(**fields: Any) -> dict[str, Any]:
    return {"type": "session.config", **fields}


def text(value: str) -> dict[str, Any]:
    return {"type": "input.text", "text": value}


def settings(**fields: Any) -> ServerSettings:
    return ServerSettings.load(**{"engine": "tone", "port": 0, **fields})


async def until(condition: Callable[[], object], timeout_s: float = 5.0) -> None:
    """Wait until something holds; for what threads and the kernel do."""
    async with asyncio.timeout(timeout_s):
        while not condition():  # noqa: ASYNC110 - neither has an event of this loop to set
            await asyncio.sleep(0.001)


def opened(engine: GatedEngine) -> GatedEngine:
    """A gated engine whose gate is open, for the server's own trial."""
    engine.open()
    return engine


def shut(engine: GatedEngine) -> None:
    """Close the gate again and forget the steps so far."""
    engine._open = False
    engine._permits = engine.steps_started = 0


@dataclass(frozen=True, slots=True)
class Application:
    """An application whose engine has settled.

    Attributes:
        http: a client that calls it directly.
        state: what its routes share.
    """

    http: httpx.AsyncClient
    state: ServerState
    app: Starlette

    async def speak(self, **body: Any) -> httpx.Response:
        """Post a request for speech."""
        return await self.http.post("/v1/audio/speech", json=body)


@asynccontextmanager
async def application(
    engine: Engine | None = None, *, settle: bool = True, **fields: Any
) -> AsyncIterator[Application]:
    """An application without a socket."""
    app = create_app(settings(**fields), engine or ToneEngine())
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with app.router.lifespan_context(app), httpx.AsyncClient(transport=transport, base_url="http://test") as http:
        state: ServerState = app.state.server
        if settle:
            await state.speaker.settled()
        yield Application(http, state, app)


class MemoryConnection:
    """A `Connection` whose client is the test."""

    def __init__(self) -> None:
        self.incoming: asyncio.Queue[str | bytes | None] = asyncio.Queue()
        self.sent: list[dict[str, Any] | bytes] = []
        self.closed: tuple[int, str] | None = None
        self.gone = False
        self.takes = asyncio.Event()
        self.takes.set()
        self.changed = asyncio.Event()

    def say(self, *messages: dict[str, Any] | str | bytes) -> "MemoryConnection":
        for message in messages:
            self.incoming.put_nowait(json.dumps(message) if isinstance(message, dict) else message)
        return self

    def leave(self) -> None:
        self.gone = True
        self.incoming.put_nowait(None)

    async def receive(self) -> str | bytes | None:
        return await self.incoming.get()

    async def send(self, data: str | bytes) -> None:
        await self.takes.wait()
        if self.gone:
            raise ConnectionLostError("the client is gone")
        self.sent.append(json.loads(data) if isinstance(data, str) else data)
        self.changed.set()

    async def close(self, code: int, reason: str) -> None:
        self.closed = (code, reason)

    @property
    def types(self) -> list[str]:
        return ["audio" if isinstance(message, bytes) else message["type"] for message in self.sent]

    @property
    def audio(self) -> bytes:
        return b"".join(message for message in self.sent if isinstance(message, bytes))

    @property
    def errors(self) -> list[str]:
        return [m["message"] for m in self.sent if isinstance(m, dict) and m["type"] == "error"]

    async def until(self, kind: str, count: int = 1) -> None:
        """Wait until so many messages of a kind were sent."""
        async with asyncio.timeout(10):
            while self.types.count(kind) < count:
                self.changed.clear()
                await self.changed.wait()


@asynccontextmanager
async def session(state: ServerState, connection: MemoryConnection) -> AsyncIterator["asyncio.Task[None]"]:
    """A session on a connection, in a task that has ended, by itself or by the client's leaving, afterwards."""
    running = asyncio.create_task(serve_session(state, connection))
    try:
        yield running
    finally:
        connection.leave()
        connection.takes.set()
        async with asyncio.timeout(10):
            await running


@dataclass(frozen=True, slots=True)
class Served:
    """A server behind a real socket.

    Attributes:
        host: and port, as a URL's authority.
        state: what its routes share.
        running: ends with the server.
    """

    host: str
    state: ServerState
    running: "asyncio.Task[None]"

    @property
    def http(self) -> str:
        return f"http://{self.host}"

    def dial(self, path: str = STREAM, **options: Any) -> connect:
        """A WebSocket client."""
        return connect(f"ws://{self.host}{path}", compression=None, max_size=None, ping_interval=None, **options)


@asynccontextmanager
async def served(engine: Engine | None = None, **fields: Any) -> AsyncIterator[Served]:
    """The whole server, ended by a signal."""
    chosen = settings(**fields)
    app = create_app(chosen, engine or ToneEngine())
    sock = listen(chosen)
    host, port = sock.getsockname()[:2]
    running = asyncio.create_task(serve(app, sock))
    state: ServerState = app.state.server
    await state.speaker.settled()
    try:
        yield Served(f"{host}:{port}", state, running)
    finally:
        if not running.done():
            signal.raise_signal(signal.SIGTERM)
        async with asyncio.timeout(15):
            await running


async def send(socket: ClientConnection, *messages: dict[str, Any]) -> None:
    for message in messages:
        await socket.send(json.dumps(message))


async def read_until(socket: ClientConnection, kind: str) -> list[dict[str, Any] | bytes]:
    """Read up to a message of a kind."""
    read: list[dict[str, Any] | bytes] = []
    async with asyncio.timeout(10):
        while True:
            data = await socket.recv()
            read.append(json.loads(data) if isinstance(data, str) else data)
            if (kind == "audio") if isinstance(read[-1], bytes) else read[-1]["type"] == kind:
                return read


async def closed(socket: ClientConnection) -> tuple[int | None, str | None]:
    """Read to the end; the close frame's code and reason."""
    async with asyncio.timeout(10):
        try:
            while True:
                await socket.recv()
        except ConnectionClosed:
            return socket.close_code, socket.close_reason
