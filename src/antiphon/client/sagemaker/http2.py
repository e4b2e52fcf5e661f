"""HTTP/2 for the AWS SDK: one connection, and one exchange on it, over the AWS common runtime (CRT).

The SDK brings a transport of its own over the same runtime. This one differs in what a live stream needs:

- it says *how* a stream ended: by the server, by a reset, by a lost connection. The SDK's gives an empty read for all;
- before the response has begun, a lost connection is an error at once; the SDK's waits for ever;
- the server is held back while nobody reads (where CRT can: 0.29 and later); the SDK's takes what comes;
- whoever waits may be cancelled: no future of CRT ever is, as its callbacks break on one.

CRT looks at no ``HTTPS_PROXY``: the host must be reachable from here.
"""

import asyncio
import inspect
import re
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from awscrt import http, io
from awscrt.exceptions import AwsCrtError

from antiphon.client.sagemaker.inbox import Inbox

WINDOW_BYTES = 2**18
"""That a server may send ahead of whoever reads a stream; five seconds of 24 kHz PCM."""

MAX_STREAMS = 256
"""On one connection, unless the server wants fewer."""


class CrtError(Exception):
    """CRT could not do it.

    Attributes:
        name: CRT's, such as ``AWS_IO_SOCKET_CONNECTION_REFUSED``.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


class AuthoritiesError(Exception):
    """The certificates of the authorities cannot be used; the message says why."""


_NAME = re.compile(r"\((?P<name>AWS_\w+)\)")


@contextmanager
def crt_errors() -> Iterator[None]:
    """Raise `CrtError` for what CRT raises: errors that it names itself or, from the C side, in their text alone."""
    try:
        yield
    except AwsCrtError as error:
        raise CrtError(error.name) from None
    except RuntimeError as error:
        named = _NAME.search(str(error))
        if named is None:
            raise
        raise CrtError(named["name"]) from None


@dataclass(frozen=True, slots=True)
class Authority:
    """What a connection is made to.

    Attributes:
        host: name or address.
        port: of the host.
        ca_file: certificates of the authorities to trust, in PEM; None for the system's.
    """

    host: str
    port: int
    ca_file: str | None = None

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


async def settled[T](future: Future[T]) -> T:
    """Wait for a future of CRT. To cancel this wait does not cancel the future."""
    loop = asyncio.get_running_loop()
    done = asyncio.Event()
    future.add_done_callback(lambda _: in_loop(loop, done.set))
    await done.wait()
    return future.result()


def in_loop(loop: asyncio.AbstractEventLoop, callback: Callable[..., object], *arguments: object) -> None:
    """Call back in `loop`, from a thread of CRT, which may outlive it."""
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(callback, *arguments)


class _Limits:
    """What the server's settings allow."""

    def __init__(self) -> None:
        self.max_streams = MAX_STREAMS

    def change(self, settings: list[Any]) -> None:
        """Take new settings; called by CRT, in its thread."""
        for setting in settings:
            if setting.id is http.Http2SettingID.MAX_CONCURRENT_STREAMS:
                self.max_streams = min(setting.value, MAX_STREAMS)


class Connection:
    """An open HTTP/2 connection; see `connect`."""

    def __init__(self, crt: Any, limits: _Limits, *, holds_back: bool) -> None:
        self.crt = crt
        self._limits = limits
        self.holds_back = holds_back
        """Whether a server waits while a stream is not read."""
        self.inbox = Inbox(asyncio.get_running_loop())
        """For what CRT has to tell of its streams."""

    @property
    def max_streams(self) -> int:
        """How many streams may be open at once; the server may change it."""
        return self._limits.max_streams

    @property
    def is_open(self) -> bool:
        """Whether it was, at last sight."""
        return bool(self.crt.is_open())

    def close(self) -> "Future[None]":
        """Begin to close; every exchange ends. The future is done when the socket is closed."""
        closing: Future[None] = self.crt.close()
        return closing


async def connect(authority: Authority, timeout_s: float) -> Connection:
    """Connect, with TLS and HTTP/2.

    Args:
        authority: to whom.
        timeout_s: that the network may take for it. The whole call is for the caller to bound.

    Raises:
        CrtError: it could not be done.
        AuthoritiesError: there is nothing to trust.
    """
    limits = _Limits()
    window = _window_options()
    with crt_errors():
        opening: Future[Any] = http.Http2ClientConnection.new(
            authority.host,
            authority.port,
            bootstrap=_bootstrap(),
            socket_options=_socket_options(timeout_s),
            tls_connection_options=_tls(authority),
            on_remote_settings_changed=limits.change,
            **window,
        )
        try:
            return Connection(await settled(opening), limits, holds_back=bool(window))
        except asyncio.CancelledError:
            opening.add_done_callback(_close_late)
            raise


def _close_late(opening: "Future[Any]") -> None:
    if opening.exception() is None:
        opening.result().close()


@cache
def _bootstrap() -> Any:
    # One thread of its own for all connections: what arrives is handed to the event loop at once.
    group = io.EventLoopGroup(1)
    return io.ClientBootstrap(group, io.DefaultHostResolver(group))


@cache
def _window_options() -> dict[str, Any]:
    if "manual_window_management" not in inspect.signature(http.Http2ClientConnection.new).parameters:
        return {}
    return {"manual_window_management": True, "initial_window_size": WINDOW_BYTES}


def _socket_options(timeout_s: float) -> Any:
    options = io.SocketOptions()
    options.connect_timeout_ms = max(1, int(timeout_s * 1000))
    options.keep_alive = True
    options.keep_alive_timeout_secs = 60
    options.keep_alive_interval_secs = 15
    options.keep_alive_max_probes = 4
    return options


def _tls(authority: Authority) -> Any:
    connection_options = io.ClientTlsContext(_trust(authority.ca_file)).new_connection_options()
    connection_options.set_server_name(authority.host)
    connection_options.set_alpn_list(["h2"])
    return connection_options


def _trust(ca_file: str | None) -> Any:
    options = io.TlsContextOptions()
    if ca_file is None:
        return options
    try:
        with crt_errors():
            options.override_default_trust_store(Path(ca_file).read_bytes())
            io.ClientTlsContext(options)
    except OSError as error:
        raise AuthoritiesError(f"cannot read the authorities in {ca_file}: {error.strerror or error}") from None
    except CrtError:
        raise AuthoritiesError(f"the authorities in {ca_file} are no certificates in PEM") from None
    return options
