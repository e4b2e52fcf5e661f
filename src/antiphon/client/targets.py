"""Where to connect to: one string, one registry of schemes."""

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from importlib import import_module
from ssl import SSLContext
from typing import NoReturn
from urllib.parse import SplitResult, urlsplit, urlunsplit

from antiphon.client.errors import TargetError
from antiphon.client.transport import Transport

SPEECH_PATH = "/v1/audio/speech/stream"
"""Where vLLM-Omni, and every server that follows it, streams speech."""

CONNECT_TIMEOUT_S = 10.0


@dataclass(frozen=True, slots=True)
class ConnectOptions:
    """How to connect, whatever the transport.

    Attributes:
        api_key: a bearer token; None for that of the environment variable ``ANTIPHON_API_KEY``, if it is set, which
            is only sent over ``wss`` or to this machine.
        ca_file: certificates of the authorities to trust, in PEM; None for the system's.
        ssl_context: for TLS, instead of `ca_file`.
        connect_timeout_s: until the connection is open.
    """

    api_key: str | None = field(default=None, repr=False)
    ca_file: str | None = None
    ssl_context: SSLContext | None = None
    connect_timeout_s: float = CONNECT_TIMEOUT_S


type Opener = Callable[[str, ConnectOptions], Awaitable[Transport]]
"""Opens a target of its scheme. Raises `ConnectError`, or `TargetError` for what `parse` cannot know."""

_SCHEME = re.compile(r"(?P<scheme>[a-z][a-z0-9+-]*):(?P<rest>.*)", re.IGNORECASE | re.DOTALL)
_HTTP = {"http": "ws", "https": "wss"}
_WEBSOCKET = ("ws", "wss")
# Of a target without its colon.
_ALMOST_SCHEME = re.compile(r"(?P<scheme>wss?|https?)//", re.IGNORECASE)


def _imported_when_used(module: str, name: str) -> Opener:
    async def open_target(target: str, options: ConnectOptions) -> Transport:
        opener: Opener = getattr(import_module(module), name)
        return await opener(target, options)

    return open_target


# By name: a client starts without the transports that it does not use, and does not know what `local:` is made of.
_openers: dict[str, Opener] = {
    "local": _imported_when_used("antiphon.local", "open_local"),
    "sagemaker": _imported_when_used("antiphon.client.sagemaker.opening", "open_sagemaker"),
    "sagemaker-invoke": _imported_when_used("antiphon.client.sagemaker.invoke", "open_invoke"),
    **dict.fromkeys(_WEBSOCKET, _imported_when_used("antiphon.client.websocket", "open_websocket")),
}


def register(scheme: str, opener: Opener) -> None:
    """Let `open_transport` open targets that begin with ``scheme:``; replaces what was registered before."""
    _openers[scheme.lower()] = opener


def schemes() -> tuple[str, ...]:
    """The schemes that can be opened, sorted."""
    return tuple(sorted(_openers))


def parse(target: str) -> tuple[str, str]:
    """Check a target and complete it.

    Args:
        target: such as ``ws://127.0.0.1:8080`` (the path defaults to `SPEECH_PATH`), ``wss://host/path``, ``local:``
            for an engine inside this process, ``sagemaker://ENDPOINT`` or, for a scheme that was registered,
            ``scheme:`` and whatever it takes.

    Returns:
        The scheme, lower case, and the complete target.

    Raises:
        TargetError: it cannot be one; the message says what to write instead and repeats no credentials.
    """
    target = target.strip()
    match = _SCHEME.fullmatch(target)
    if match is None or match["rest"].isdecimal() or re.match(r"\d+/", match["rest"]):
        _refuse_scheme_less(target)
    scheme = match["scheme"].lower()
    if scheme in _HTTP:
        raise TargetError(f"speech streams over WebSocket: write {_HTTP[scheme]}:// instead of {scheme}://")
    if scheme not in _openers:
        raise TargetError(f"there is no transport for {scheme}: targets begin with {_known()}")
    return scheme, _complete_websocket(target) if scheme in _WEBSOCKET else f"{scheme}:{match['rest']}"


async def open_transport(target: str, options: ConnectOptions) -> Transport:
    """Connect to a target.

    Raises:
        TargetError: it is not one.
        ConnectError: nobody there, not allowed, or not in time.
    """
    scheme, complete = parse(target)
    return await _openers[scheme](complete, options)


def _known() -> str:
    return ", ".join(f"{scheme}:" for scheme in schemes())


def _refuse_scheme_less(target: str) -> NoReturn:
    if not target:
        raise TargetError(f"the target is empty; targets begin with {_known()}")
    if "@" in target:
        raise TargetError(f"the target has no scheme; targets begin with {_known()}")
    almost = _ALMOST_SCHEME.match(target)
    scheme = almost["scheme"].lower() if almost else "ws"
    meant = f"{_HTTP.get(scheme, scheme)}://{target[almost.end() if almost else 0 :].lstrip('/')}"
    raise TargetError(f"the target {target!r} has no scheme: did you mean {meant} ?")


def _complete_websocket(target: str) -> str:
    try:
        parts = urlsplit(target)
        port = parts.port
    except ValueError as error:
        raise TargetError(f"the target is not a URL: {error}") from None
    _check_websocket(parts, port)
    path = parts.path if parts.path not in {"", "/"} else SPEECH_PATH
    return urlunsplit((parts.scheme.lower(), parts.netloc, path, parts.query, ""))


def _check_websocket(parts: SplitResult, port: int | None) -> None:
    if parts.username is not None or parts.password is not None:
        raise TargetError("a URL is no place for a secret: set ANTIPHON_API_KEY, or pass api_key")
    if not parts.hostname:
        raise TargetError("the target names no host: write ws://host:port, for example ws://127.0.0.1:8080")
    try:
        parts.hostname.encode("idna")
    except UnicodeError:
        raise TargetError("the target's host is no host name: a part of it is empty or too long") from None
    if port == 0:
        raise TargetError("port 0 is for servers, which choose one; write the port that the server printed")
    if parts.fragment:
        raise TargetError("a WebSocket URL has no fragment: remove '#' and what follows")
    if re.search(r"[\s\x00-\x1f]", parts.netloc + parts.path + parts.query):
        raise TargetError("the target contains white space; percent-encode it")
