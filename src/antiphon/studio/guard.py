"""Keeps other sites' pages, open in the same browser, out of this one.

A browser lets any page connect to any WebSocket, and lets a name that an attacker owns lead to this machine. So every
request must name this server by an address or a name that nobody else can own (against DNS rebinding), and one that
another site's page made is refused (against cross-site WebSocket hijacking; RFC 6455 §10.2). Nothing is taken by POST,
and the page itself may load nothing from elsewhere.
"""

import ipaddress
import socket
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

# Gradio's scripts and styles are in line, and its templates are compiled in the browser.
POLICY = "default-src 'self' 'unsafe-inline' 'unsafe-eval' data: blob:; frame-ancestors 'self'; form-action 'none'"

_READING = frozenset({"GET", "HEAD"})


class Guard:
    """ASGI middleware.

    Args:
        app: what is guarded.
        name: the name that the server was asked to listen on, if it is one; trusted beside addresses, ``localhost``
            and this machine's own name.
    """

    def __init__(self, app: ASGIApp, name: str) -> None:
        self._app = app
        self._names = frozenset({"localhost", name.lower(), socket.gethostname().lower()})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on what this server's own page asks, or anyone's navigation to it; refuse the rest with 403."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif refusal := self._refusal(scope, Headers(scope=scope)):
            await PlainTextResponse(f"{refusal}\n", 403)(scope, receive, send)
        else:
            await self._app(scope, receive, _with_policy(send))

    def _refusal(self, scope: Scope, headers: Headers) -> str | None:
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        if len(hosts) != 1 or not self._is_ours(hosts[0]):
            return "this server is not known by that name: use its address, or localhost"
        if scope["type"] == "http" and scope["method"] not in _READING:
            return "this server takes nothing over HTTP"
        if scope["type"] == "websocket" and not origins:
            return "this WebSocket is for the page that this server serves"
        if any(_host_of(origin) != hosts[0].lower() for origin in origins):
            return "another site's page may not use this server"
        return None

    def _is_ours(self, host: str) -> bool:
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:
            return False
        return name in self._names or name.endswith(".localhost") or _is_address(name)


def _host_of(origin: str) -> str:
    try:
        return urlsplit(origin.lower()).netloc
    except ValueError:
        return ""


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _with_policy(send: Send) -> Send:
    async def send_with_policy(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers["Content-Security-Policy"] = POLICY
            headers["X-Content-Type-Options"] = "nosniff"
        await send(message)

    return send_with_policy
