"""Runs the page's application on uvicorn."""

import asyncio
import math
import socket
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext

import uvicorn
from starlette.types import ASGIApp

from antiphon.client import connect
from antiphon.client.targets import parse
from antiphon.studio.bridge import SEND_TIMEOUT_S
from antiphon.studio.messages import MAX_MESSAGE_BYTES

CLOSING_TIME_S = 1.0
PING_INTERVAL_S = 20.0
BACKLOG = 128
MAX_CONNECTIONS = 256


class PageError(Exception):
    """The page cannot be served; the message says what to do."""


def listen(host: str, port: int) -> socket.socket:
    """Bind the listening socket.

    Raises:
        PageError: the address cannot be had.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if hasattr(socket, "TCP_USER_TIMEOUT"):
            # What is in the buffers of a page that takes nothing would wait for ever.
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, math.ceil(SEND_TIMEOUT_S * 1000))
        sock.bind((host, port))
        sock.listen(BACKLOG)
    except OSError as error:
        sock.close()
        raise PageError(f"cannot listen on {host} port {port}: {error.strerror}; choose another with --port") from None
    return sock


class _Server(uvicorn.Server):
    """Leaves signals to whoever runs it, and tells when it is ready."""

    def __init__(self, config: uvicorn.Config, on_ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_ready = on_ready

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._on_ready()


def _kept_ready(target: str) -> AbstractAsyncContextManager[object]:
    """An engine inside this process is loaded by its first listener and ends with its last: be one all the time."""
    return connect(target) if parse(target)[0] == "local" else nullcontext()


async def serve(app: ASGIApp, target: str, sock: socket.socket, on_ready: Callable[[], None]) -> None:
    """Serve until cancelled.

    Args:
        app: from `create_app`.
        target: as `create_app`.
        sock: from `listen`; closed at the end.
        on_ready: called once the page can be opened.

    Raises:
        SpeechError: an engine inside this process cannot speak.
    """
    with sock:
        async with _kept_ready(target):
            await _run(_Server(_config(app), on_ready), sock)


async def _run(server: uvicorn.Server, sock: socket.socket) -> None:
    serving = asyncio.create_task(server.serve([sock]), name="antiphon-page")
    try:
        await asyncio.shield(serving)
    finally:
        server.should_exit = True
        await asyncio.wait({serving})


def _config(app: ASGIApp) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        ws="websockets-sansio",
        ws_max_size=MAX_MESSAGE_BYTES,
        ws_per_message_deflate=False,
        ws_ping_interval=PING_INTERVAL_S,
        limit_concurrency=MAX_CONNECTIONS,
        timeout_graceful_shutdown=math.ceil(CLOSING_TIME_S),
        access_log=False,
        log_config=None,
        server_header=False,
    )
