"""Runs the application on uvicorn: one socket, one process, an orderly end."""

import asyncio
import gc
import json
import math
import os
import signal
import socket
from pathlib import Path
from types import FrameType

import uvicorn
from starlette.applications import Starlette

from antiphon.server.descriptors import most_connections
from antiphon.server.http_protocol import BoundedProtocol
from antiphon.server.logs import LoopErrors, configure_logging, log
from antiphon.server.settings import ServerSettings, unknown_variables
from antiphon.server.state import CLOSING_TIME_S, ServerState
from antiphon.server.websocket_protocol import BoundedWebSocket

__all__ = ["ServeError", "configure_logging", "listen", "serve"]

# Above the largest message of the protocol (4 MiB of characters, up to 4 bytes each).
MAX_MESSAGE_BYTES = 16 * 1024 * 1024 + 1024
PING_INTERVAL_S = 20.0
BACKLOG = 1024
# asyncio takes so many connections at once off the queue, and tries as often when there are no descriptors left.
ACCEPTED_AT_ONCE = 8
# Beside `max_connections`, which counts WebSockets.
HTTP_CONNECTIONS = 1024


class ServeError(Exception):
    """The server could not start or had to stop; the message says what to do."""


class _Server(uvicorn.Server):
    """Drains on SIGTERM and SIGINT before it stops; a second signal leaves time for close frames only."""

    def __init__(self, config: uvicorn.Config, state: ServerState) -> None:
        super().__init__(config)
        self._state = state
        self._drain: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        await super().startup(sockets)
        for sock in sockets or ():
            # asyncio has made its number the length of the kernel's queue as well.
            sock.listen(BACKLOG)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002 - uvicorn's signature
        # Not remembered for re-raising: a drained server has exited as it was asked to, with status 0.
        if self._loop is None:
            self.should_exit = self.force_exit = True
        elif self._state.draining:
            self._loop.call_soon_threadsafe(self._cut_short)
        else:
            self._state.draining = True
            self._loop.call_soon_threadsafe(self._begin_drain, signal.Signals(sig).name)

    def _begin_drain(self, why: str) -> None:
        self._drain = asyncio.get_running_loop().create_task(self._drain_then_exit(why))

    def _cut_short(self) -> None:
        for session in list(self._state.sessions):
            session.cut_off()
        asyncio.get_running_loop().call_later(CLOSING_TIME_S, self._stop)

    def _stop(self) -> None:
        self.should_exit = self.force_exit = True

    async def _drain_then_exit(self, why: str) -> None:
        timeout_s = self._state.settings.drain_timeout_s
        log.info("server.draining", signal=why, sessions=len(self._state.sessions), timeout_s=timeout_s)
        try:
            if not await self._state.drain(timeout_s):
                log.warning("server.drain_timeout", timeout_s=timeout_s)
        finally:
            self.should_exit = True


def listen(settings: ServerSettings) -> socket.socket:
    """Bind the listening socket, so that a port in use is known before anything is loaded.

    Raises:
        ServeError: the address cannot be had.
    """
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    # The protocol is named because asyncio switches Nagle's algorithm off only on sockets that name it; with it on,
    # the end of a unit waits 40 ms for the client's delayed acknowledgement.
    sock = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        _give_up_on_the_deaf(sock, settings.send_timeout_s)
        sock.bind((settings.host, settings.port))
        sock.listen(BACKLOG)
    except OSError as error:
        sock.close()
        raise ServeError(
            f"cannot listen on {settings.host} port {settings.port}: {error.strerror}; "
            "choose another with --port, or 0 for any free one"
        ) from None
    return sock


def _give_up_on_the_deaf(sock: socket.socket, timeout_s: float) -> None:
    """Let the kernel end connections whose peer takes nothing for so long, whoever waits for them; Linux only.

    Closing such a connection does not help: what is in its buffers would wait for ever.
    """
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, math.ceil(timeout_s * 1000))


async def serve(app: Starlette, sock: socket.socket, ready_file: Path | None = None) -> None:
    """Serve until a signal, or until the engine turns out to be unable to speak.

    Args:
        app: from `create_app`.
        sock: from `listen`; closed at the end.
        ready_file: written, as JSON with ``url`` and ``pid``, once the server can speak; one from before is removed.

    Raises:
        ServeError: the engine cannot speak, or the file cannot be written; before anything is loaded if the folder is
            not there.
    """
    with sock:
        if ready_file is not None:
            _clear(ready_file)
        for name, nearest in unknown_variables():
            log.warning("settings.unknown_variable", variable=name, **({"nearest": nearest} if nearest else {}))
        await _run(app, sock, ready_file)


async def _run(app: Starlette, sock: socket.socket, ready_file: Path | None) -> None:
    state: ServerState = app.state.server
    server = _Server(_config(app), state)
    loop = asyncio.get_running_loop()
    before = loop.get_exception_handler()
    loop.set_exception_handler(LoopErrors())
    announcing = asyncio.create_task(_announce(server, state, sock, ready_file))
    try:
        await server.serve(sockets=[sock])
    finally:
        announcing.cancel()
        await asyncio.wait({announcing})
        loop.set_exception_handler(before)
    if not announcing.cancelled():
        announcing.result()


async def _announce(server: uvicorn.Server, state: ServerState, sock: socket.socket, ready_file: Path | None) -> None:
    await state.speaker.settled()
    # Nothing of what is there now will be garbage. Full collections that need not look at it hold up everyone's speech
    # half as long.
    gc.collect()
    gc.freeze()
    url = _url_of(sock)
    try:
        if state.speaker.failure is not None:
            raise ServeError(str(state.speaker.failure))
        log.info("server.ready", url=url, engine=state.speaker.engine.info.name, dialect=state.settings.dialect)
        if ready_file is not None:
            _write_ready_file(ready_file, url)
    except BaseException:
        server.should_exit = True
        raise


def _url_of(sock: socket.socket) -> str:
    host, port = sock.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _clear(path: Path) -> None:
    """Find out now, and not once everything is loaded, whether the file can be written."""
    if not path.parent.is_dir():
        raise ServeError(f"cannot write the ready file {path}: there is no folder {path.parent}")
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise ServeError(
            f"cannot remove the ready file {path}, which is of an earlier server: {error.strerror}"
        ) from None


def _write_ready_file(path: Path, url: str) -> None:
    partial = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        partial.write_text(json.dumps({"url": url, "pid": os.getpid()}), encoding="utf-8")
        partial.replace(path)
    except OSError as error:
        raise ServeError(f"cannot write the ready file {path}: {error.strerror}") from None


def _config(app: Starlette) -> uvicorn.Config:
    settings: ServerSettings = app.state.server.settings
    return uvicorn.Config(
        app,
        http=BoundedProtocol,
        timeout_keep_alive=math.ceil(settings.config_timeout_s),
        limit_concurrency=_most_connections(settings),
        backlog=ACCEPTED_AT_ONCE,
        ws=BoundedWebSocket,
        # PCM does not compress; deflate costs memory and time per connection.
        ws_per_message_deflate=False,
        ws_max_size=MAX_MESSAGE_BYTES,
        # Pings keep middleboxes awake. They do not judge: a session at its read-ahead bound does not read pongs, and
        # one that is gone or stuck is found by the idle timer or the send timeout.
        ws_ping_interval=PING_INTERVAL_S,
        ws_ping_timeout=None,
        timeout_graceful_shutdown=math.ceil(CLOSING_TIME_S),
        access_log=False,
        log_config=None,
        log_level="warning",
        server_header=False,
    )


def _most_connections(settings: ServerSettings) -> int:
    wanted = settings.max_connections + HTTP_CONNECTIONS
    most = most_connections(wanted)
    if most < wanted:
        log.warning(
            "server.few_descriptors",
            connections=most,
            max_connections=settings.max_connections,
            hint=f"{wanted} connections may come; raise the limit of open files (ulimit -n) or lower max_connections",
        )
    return most
