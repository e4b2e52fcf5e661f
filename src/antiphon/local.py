"""The target ``local:``: the whole server inside the caller's process, without a socket.

``local:`` is the default engine, ``local:NAME`` another. The sessions of one event loop share an engine and its
threads, which end with the last of them.
"""

import asyncio
from collections.abc import Awaitable
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


class _Pipe:
    """Two bounded queues and one end: both sides of a connection within a process."""

    def __init__(self) -> None:
        self.to_server: asyncio.Queue[str] = asyncio.Queue(MESSAGES_UNDER_WAY)
        self.to_client: asyncio.Queue[str | bytes] = asyncio.Queue(MESSAGES_UNDER_WAY)
        self.ended = asyncio.Event()
        self.code, self.reason = 1006, ""

    def end(self, code: int, reason: str) -> None:
        """End the connection, once."""
        if not self.ended.is_set():
            self.code, self.reason = code, reason
            self.ended.set()

    async def unless_ended[T](self, wanted: Awaitable[T]) -> T | None:
        """Wait for something, or return None when the connection ends first."""
        task = asyncio.ensure_future(wanted)
        end = asyncio.ensure_future(self.ended.wait())
        try:
            await asyncio.wait({task, end}, return_when=asyncio.FIRST_COMPLETED)
            return task.result() if task.done() else None
        finally:
            task.cancel()
            end.cancel()


class _ServerEnd:
    def __init__(self, pipe: _Pipe) -> None:
        self._pipe = pipe

    async def receive(self) -> str | bytes | None:
        return await self._pipe.unless_ended(self._pipe.to_server.get())

    async def send(self, data: str | bytes) -> None:
        if self._pipe.to_client.full():
            await self._pipe.unless_ended(self._pipe.to_client.put(data))
        else:
            self._pipe.to_client.put_nowait(data)
        if self._pipe.ended.is_set():
            raise ConnectionLostError("the client is gone")

    async def close(self, code: int, reason: str) -> None:
        self._pipe.end(code, reason)


class _LocalTransport:
    """The client's end. What was sent before the end can still be received."""

    def __init__(self, pipe: _Pipe, session: asyncio.Task[None]) -> None:
        self._pipe = pipe
        self._session = session

    async def send(self, data: str) -> None:
        if not self._pipe.ended.is_set():
            await self._pipe.unless_ended(self._pipe.to_server.put(data))
        if self._pipe.ended.is_set():
            raise ConnectionClosedError(self._pipe.code, self._pipe.reason)

    async def receive(self) -> str | bytes:
        if self._pipe.to_client.empty():
            message = await self._pipe.unless_ended(self._pipe.to_client.get())
            if message is not None:
                return message
        if self._pipe.to_client.empty():
            raise ConnectionClosedError(self._pipe.code, self._pipe.reason)
        return self._pipe.to_client.get_nowait()

    async def close(self, code: int = 1000, reason: str = "") -> None:
        self._pipe.end(code, reason)
        await asyncio.wait({self._session})


class _LocalServer:
    """An engine that speaks for the sessions of one event loop."""

    def __init__(self, name: str) -> None:
        self.engine = name
        # Built from defaults alone: a program's speech must not change with the environment of a server.
        settings = ServerSettings.model_construct(engine=name)
        self._speaker = Speaker(create(settings.engine, **engine_options(settings)), settings)
        self._state = ServerState(settings, self._speaker, Metrics(self._speaker))
        self._start = asyncio.ensure_future(self._speaker.start())
        self._sessions = 0

    async def open(self) -> _LocalTransport:
        """Start a session, once the engine can speak."""
        self._sessions += 1
        try:
            await asyncio.shield(self._start)
            if self._speaker.failure is not None:
                raise ConnectError(str(self._speaker.failure))
        except BaseException:
            await self._leave()
            raise
        pipe = _Pipe()
        return _LocalTransport(pipe, asyncio.create_task(self._serve(pipe)))

    async def _serve(self, pipe: _Pipe) -> None:
        try:
            await serve_session(self._state, _ServerEnd(pipe))
        finally:
            pipe.end(1006, "")
            await self._leave()

    async def _leave(self) -> None:
        self._sessions -= 1
        if self._sessions == 0:
            _servers_here().pop(self.engine, None)
            await asyncio.wait({self._start})
            await self._speaker.close()


_servers: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, _LocalServer]] = WeakKeyDictionary()


def _servers_here() -> dict[str, _LocalServer]:
    return _servers.setdefault(asyncio.get_running_loop(), {})


async def open_local(target: str, _: ConnectOptions) -> _LocalTransport:
    """Open a session of the engine that ``local:NAME`` names.

    Raises:
        TargetError: there is no such engine here.
        ConnectError: it cannot speak.
    """
    name = target.partition(":")[2].strip("/") or ServerSettings.model_fields["engine"].default
    servers = _servers_here()
    try:
        server = servers.get(name) or servers.setdefault(name, _LocalServer(name))
    except EngineError as error:
        raise TargetError(f"{target}: {error}") from None
    return await server.open()
