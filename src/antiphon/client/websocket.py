"""The WebSocket transport, over `websockets`."""

import ipaddress
import logging
import os
import ssl
from collections.abc import MutableMapping
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import (
    ConnectionClosed,
    InvalidHandshake,
    InvalidProxy,
    InvalidStatus,
    ProxyError,
    WebSocketException,
)
from websockets.frames import CloseCode

from antiphon.client.errors import ConnectError
from antiphon.client.targets import ConnectOptions
from antiphon.client.transport import ConnectionClosedError

API_KEY_VARIABLE = "ANTIPHON_API_KEY"
"""A server reads its own key from it too; so it goes where nobody reads along and no further, see `_api_key`."""

MAX_MESSAGE_BYTES = 4 * 2**20
"""Of one message; a stock server's largest chunk of PCM has 96,000 bytes."""

PING_INTERVAL_S = 20.0

# Pongs wait behind audio that nobody takes: a listener may pause for minutes and must not lose the connection.
PING_TIMEOUT_S = 300.0

CLOSE_TIMEOUT_S = 2.0

_ADVICE = {
    401: "set ANTIPHON_API_KEY, or pass api_key",
    403: "this key, or this path, is not allowed",
    404: "no speech stream at this path",
    429: "too many requests, try again later",
    503: "the server is not ready or has no room, try again later",
}
_RETRYABLE = frozenset({408, 425, 429, 500, 502, 503, 504})


class _Discreet(logging.LoggerAdapter[logging.Logger]):
    """`websockets` logs headers (the key) and frames (text and audio) at DEBUG; these stay out of any log."""

    def isEnabledFor(self, level: int) -> bool:  # noqa: N802 - the name that logging gave it
        return level > logging.DEBUG and super().isEnabledFor(level)

    def process(self, msg: Any, kwargs: MutableMapping[str, Any]) -> tuple[Any, MutableMapping[str, Any]]:
        return msg, kwargs


class _Connect(connect):
    def process_redirect(self, exc: Exception) -> Exception | str:
        """Follow none: a bearer token goes to the host it was meant for."""
        return exc


class WebSocketTransport:
    """A `Transport` over an open WebSocket."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection

    async def send(self, data: str) -> None:
        """Send a text frame."""
        try:
            await self._connection.send(data)
        except ConnectionClosed as error:
            raise _closed(error) from None

    async def receive(self) -> str | bytes:
        """Wait for the next frame."""
        try:
            return await self._connection.recv()
        except ConnectionClosed as error:
            raise _closed(error) from None

    async def close(self, code: int = 1000, reason: str = "") -> None:
        """Close; waits for the server's answer for at most two seconds."""
        await self._connection.close(code, reason)


async def open_websocket(target: str, options: ConnectOptions) -> WebSocketTransport:
    """Connect to a ``ws://`` or ``wss://`` URL.

    Raises:
        ConnectError: nobody there, not allowed, not a speech stream, or not in time.
    """
    api_key = _api_key(target, options)
    connecting = _connecting(target, options, api_key)
    try:
        return WebSocketTransport(await connecting)
    except (OSError, WebSocketException, ImportError, ValueError) as error:
        raise _explain(error, target, options, api_key) from None


def _api_key(target: str, options: ConnectOptions) -> str:
    """The key to present, empty for none.

    What was passed is meant for this server. What the environment holds may not be, and is not sent where it can be
    read along the way.
    """
    key = options.api_key
    if key is None:
        key = os.environ.get(API_KEY_VARIABLE, "") if _is_private(target) else ""
    key = key.strip()
    if not (key.isascii() and key.isprintable()):
        raise ConnectError("the API key has characters that no HTTP header can carry")
    return key


def _connecting(target: str, options: ConnectOptions, api_key: str) -> connect:
    tls: dict[str, Any] = {"ssl": _tls(options)} if target.startswith("wss:") else {}
    return _Connect(
        target,
        compression=None,  # PCM does not compress, and every chunk would wait for the attempt
        additional_headers={"Authorization": f"Bearer {api_key}"} if api_key else None,
        proxy=None if _is_loopback(target) else True,
        open_timeout=options.connect_timeout_s,
        ping_interval=PING_INTERVAL_S,
        ping_timeout=PING_TIMEOUT_S,
        close_timeout=CLOSE_TIMEOUT_S,
        max_size=MAX_MESSAGE_BYTES,
        logger=_Discreet(logging.getLogger(__name__)),
        **tls,
    )


def _tls(options: ConnectOptions) -> ssl.SSLContext:
    if options.ssl_context is not None:
        return options.ssl_context
    try:
        return ssl.create_default_context(cafile=options.ca_file)
    except OSError as error:
        raise ConnectError(f"cannot read the authorities in {options.ca_file}: {error.strerror or error}") from error


def _is_private(target: str) -> bool:
    return target.startswith("wss:") or _is_loopback(target)


def _is_loopback(target: str) -> bool:
    host = urlsplit(target).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _where(target: str) -> str:
    # Without the query, which may hold anything.
    parts = urlsplit(target)
    return f"{parts.scheme}://{parts.netloc}{parts.path}"


def _explain(error: Exception, target: str, options: ConnectOptions, api_key: str) -> ConnectError:
    where = _where(target)
    match error:
        case TimeoutError():
            return ConnectError(f"{where} did not answer within {options.connect_timeout_s:g} s", retryable=True)
        case InvalidStatus():
            return _refused(where, error, withheld=not api_key and not _is_private(target))
        case ssl.SSLError():
            return ConnectError(f"{where}: TLS failed: {error.reason or error}")
        case ProxyError():
            return ConnectError(f"cannot reach {where} through the proxy of the environment: {error}")
        case InvalidHandshake():
            return ConnectError(f"{where} is not a WebSocket server: {error}")
        case OSError():
            return ConnectError(f"cannot reach {where}: {error.strerror or error}", retryable=True)
        case ImportError():
            return ConnectError(f"cannot reach {where}: {error}; install it, or except the host with no_proxy")
    # Without its address, which may hold a password: an address of a target has been checked before.
    detail = f": {error.msg}" if isinstance(error, InvalidProxy) else ""
    return ConnectError(f"cannot reach {where}: the proxy in the environment cannot be used{detail}")


def _refused(where: str, error: InvalidStatus, *, withheld: bool) -> ConnectError:
    status = error.response.status_code
    advice = _ADVICE.get(status, error.response.reason_phrase)
    if withheld and status == HTTPStatus.UNAUTHORIZED:
        advice = f"{API_KEY_VARIABLE} is sent over wss:// or to this machine only; use wss://, or pass api_key"
    return ConnectError(f"{where} answered HTTP {status}: {advice}", retryable=status in _RETRYABLE)


def _closed(error: ConnectionClosed) -> ConnectionClosedError:
    if error.rcvd is not None:
        return ConnectionClosedError(error.rcvd.code, error.rcvd.reason)
    if error.sent is not None:
        return ConnectionClosedError(error.sent.code, error.sent.reason)
    return ConnectionClosedError(CloseCode.ABNORMAL_CLOSURE, "no close frame")
