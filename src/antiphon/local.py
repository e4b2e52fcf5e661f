"""The target ``local:``: the whole server inside the caller's process, without a socket.

``local:`` is the default engine, ``local:NAME`` another. The sessions of one event loop share an engine and its
threads, which end with the last of them.
"""

import asyncio
from collections import deque
from weakref import WeakKeyDictionary

from antiphon.client.errors import ConnectError, TargetError
from antiphon.client.targets import ConnectOptions
from antiphon.client.transport import ConnectionClosedError
from antiphon.engines.contract import EngineError
from antiphon.engines.registry import create
from antiphon.server.connection import ConnectionLostError
from antiphon.server.metrics import Metrics
from antiphon.server.settings import ServerSettings
from antiphon.server.speaker import Speaker, engine_options
from antiphon.server.state import ServerState
from antiphon.server.stream import serve_session

# Messages under way in each direction; what a socket's buffers are to a network.
MESSAGES_UNDER_WAY = 16


class _Lane[Message]:
    """One direction of a connection: a bounded queue with one writer, one reader and an end."""

    def __init__(self) -> None:
        self._messages: deque[Message] = deque()
        self._changed = asyncio.Event()
        self._ended = False

    async def put(self, message: Message) -> bool:
        """Append a message once there is room; False when the lane has ended."""
        while len(self._messages) >= MESSAGES_UNDER_WAY and not self._ended:
            await self._change()
        if not self._ended:
            self._messages.append(message)
            self._changed.set()
        return not self._ended

    async def get(self) -> Message | None:
        """Take the next message once there is one; None when the lane has ended and everything was taken."""
        while not self._messages and not self._ended:
            await self._change()
        if not self._messages:
            return None
        self._changed.set()
        return self._messages.popleft()

    def end(self) -> None:
        """Take no further message."""
        self._ended = True
        self._changed.set()

    async def _change(self) -> None:
        # Only one side waits at a time: the writer on a full lane, the reader on an empty one.
        self._changed.clear()
        await self._changed.wait()


class _Pipe:
    """Both sides of a connection within a process."""

    def __init__(self) -> None:
        self.to_server: _Lane[str] = _Lane()
        self.to_client: _Lane[str | bytes] = _Lane()
        self.closed: ConnectionClosedError | None = None

    def close(self, code: int, reason: str) -> None:
        """End the connection, once."""
        if self.closed is None:
            self.closed = ConnectionClosedError(code, reason)
            self.to_server.end()
            self.to_client.end()


class _ServerEnd:
    """A `Connection` of the server. That the client is gone overtakes what it sent."""

    def __init__(self, pipe: _Pipe) -> None:
        self._pipe = pipe

    async def receive(self) -> str | bytes | None:
        message = await self._pipe.to_server.get()
        return message if self._pipe.closed is None else None

    async def send(self, data: str | bytes) -> None:
        if not await self._pipe.to_client.put(data):
            raise ConnectionLostError("the client is gone")

    async def close(self, code: int, reason: str) -> None:
        self._pipe.close(code, reason)


class _LocalTransport:
    """The client's end, a `Transport`. What was sent before the end can still be received."""

    def __init__(self, pipe: _Pipe, session: asyncio.Task[None]) -> None:
        self._pipe = pipe
        self._session = session

    async def send(self, data: str) -> None:
        if not await self._pipe.to_server.put(data):
            raise self._closed()

    async def receive(self) -> str | bytes:
        message = await self._pipe.to_client.get()
        if message is None:
            raise self._closed()
        return message

    async def close(self, code: int = 1000, reason: str = "") -> None:
        self._pipe.close(code, reason)
        await asyncio.wait({self._session})

    def _closed(self) -> ConnectionClosedError:
        # A fresh one each time: an exception keeps the traceback of where it was raised.
        closed = self._pipe.closed
        return ConnectionClosedError(closed.code, closed.reason) if closed else ConnectionClosedError(1006)


class _LocalServer:
    """An engine that speaks for the sessions of one event loop."""

    def __init__(self, name: str) -> None:
        # Built from defaults alone: a program's speech must not change with the environment of a server.
        settings = ServerSettings.model_construct(engine=name)
        self._name = name
        self._speaker = Speaker(create(name, **engine_options(settings)), settings)
        self._state = ServerState(settings, self._speaker, Metrics(self._speaker))
        self._sessions = 0
        self._speaker.start()

    async def open(self, timeout_s: float) -> _LocalTransport:
        """Start a session, once the engine can speak.

        Raises:
            ConnectError: it cannot, or not in time.
        """
        self._sessions += 1
        try:
            await self._ready(timeout_s)
        except BaseException:
            await self._leave()
            raise
        pipe = _Pipe()
        return _LocalTransport(pipe, asyncio.create_task(self._serve(pipe), name="antiphon-local-session"))

    async def _ready(self, timeout_s: float) -> None:
        try:
            async with asyncio.timeout(timeout_s):
                await self._speaker.settled()
        except TimeoutError:
            late = f"the engine {self._name} was not ready within {timeout_s:g} s; give it a longer connect_timeout_s"
            raise ConnectError(late, retryable=True) from None
        if self._speaker.failure is not None:
            raise ConnectError(str(self._speaker.failure))

    async def _serve(self, pipe: _Pipe) -> None:
        try:
            await serve_session(self._state, _ServerEnd(pipe))
        finally:
            pipe.close(1006, "")
            await self._leave()

    async def _leave(self) -> None:
        self._sessions -= 1
        if self._sessions == 0:
            # Not to be found any more before the first wait: who comes now starts another.
            _servers_here().pop(self._name, None)
            await self._speaker.close()


_servers: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, _LocalServer]] = WeakKeyDictionary()


def _servers_here() -> dict[str, _LocalServer]:
    return _servers.setdefault(asyncio.get_running_loop(), {})


async def open_local(target: str, options: ConnectOptions) -> _LocalTransport:
    """Open a session of the engine that ``local:NAME`` names.

    Raises:
        TargetError: there is no such engine here.
        ConnectError: it cannot speak, or not in time.
    """
    name = target.partition(":")[2].strip("/") or ServerSettings.model_fields["engine"].default
    servers = _servers_here()
    if name not in servers:
        try:
            servers[name] = _LocalServer(name)
        except EngineError as error:
            raise TargetError(f"{target}: {error}") from None
    return await servers[name].open(options.connect_timeout_s)
