"""The endpoints that can be invoked, and the servers that are started for some of them."""

import re
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from antiphon.emulator.run import RunningEndpoint
from antiphon.emulator.state import EmulatorError

# As CreateEndpoint takes it.
NAME = re.compile(r"[a-zA-Z0-9](-*[a-zA-Z0-9]){0,62}")
MAX_NAME = 63
VARIANT = "AllTraffic"


@dataclass(frozen=True, slots=True)
class EndpointSpec:
    """An endpoint that is wanted.

    Attributes:
        name: as it is invoked.
        url: of the server behind it, ``http://HOST:PORT``; None starts one.
        engine: of the server that is started.
        dialect: of the server that is started.
        variants: production variants that a request may target; the first one answers when none is.
    """

    name: str
    url: str | None = None
    engine: str = "hibari"
    dialect: str = "0.26"
    variants: tuple[str, ...] = (VARIANT,)


@dataclass(frozen=True, slots=True)
class Backend:
    """The server behind an endpoint.

    Attributes:
        url: where it listens, ``http://HOST:PORT``.
        variants: production variants; the first one answers when none is targeted.
        in_service: whether it may be invoked.
    """

    url: str
    variants: tuple[str, ...]
    in_service: bool = True


type Launcher = Callable[[EndpointSpec, Callable[[int], None]], AbstractAsyncContextManager[str]]
"""Starts a server, gives its URL (``http://HOST:PORT``) once it can speak, and ends it.

Should the server end by itself, what is called has its exit status: negative for a signal.
"""


class Registry:
    """The endpoints that can be invoked, by name."""

    def __init__(self) -> None:
        self._backends: dict[str, Backend] = {}
        self._started: set[str] = set()

    def find(self, name: str) -> Backend | None:
        """Return the server behind an endpoint, or None if there is no such endpoint."""
        return self._backends.get(name)

    @property
    def running(self) -> tuple[RunningEndpoint, ...]:
        """All of them."""
        return tuple(
            RunningEndpoint(name, backend.url, name in self._started, backend.in_service)
            for name, backend in self._backends.items()
        )

    @asynccontextmanager
    async def serving(
        self, spec: EndpointSpec, launch: Launcher, ended: Callable[[str, int], None]
    ) -> AsyncIterator[None]:
        """Have an endpoint, and start the server behind it if there is none; leaving ends both.

        A started server that ends by itself takes the endpoint out of service; `ended` is told its name and exit status.
        """

        def gone(status: int) -> None:
            self._backends[spec.name] = replace(self._backends[spec.name], in_service=False)
            ended(spec.name, status)

        async with AsyncExitStack() as stack:
            url = spec.url
            if url is None:
                url = await stack.enter_async_context(launch(spec, gone))
                self._started.add(spec.name)
                stack.callback(self._started.discard, spec.name)
            self._backends[spec.name] = Backend(url=url, variants=spec.variants)
            stack.callback(self._backends.pop, spec.name)
            yield


def parse_endpoint(text: str) -> tuple[str, str | None]:
    """Return name and URL of ``NAME`` or ``NAME=URL``.

    Raises:
        EmulatorError: it is something else; the message says what is wrong.
    """
    name, given, url = text.partition("=")
    return check_name(name.strip()), server_url(url.strip()) if given else None


def check_name(name: str) -> str:
    """Return a name that an endpoint can have.

    Raises:
        EmulatorError: SageMaker would not take it.
    """
    if len(name) > MAX_NAME or not NAME.fullmatch(name):
        raise EmulatorError(
            f"{name!r} is no endpoint name: 1 to 63 letters, digits and hyphens, no hyphen at either end; "
            "write NAME or NAME=ws://HOST:PORT"
        )
    return name


def server_url(url: str) -> str:
    """Return the URL of a server as ``http://HOST:PORT``.

    Raises:
        EmulatorError: it does not name one that can be reached.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise EmulatorError(f"{url!r} is no URL: {error}; write ws://HOST:PORT") from None
    if parts.scheme in {"wss", "https"}:
        raise EmulatorError(f"{url!r} cannot be reached: a container is spoken to without TLS; write ws://HOST:PORT")
    if parts.scheme not in {"ws", "http"} or not host:
        raise EmulatorError(f"{url!r} is no URL of a server; write ws://HOST:PORT")
    if parts.path.strip("/") or parts.query or parts.fragment or parts.username is not None:
        raise EmulatorError(f"{url!r} has more than a host and a port; the path comes with each request")
    return f"http://{f'[{host}]' if ':' in host else host}:{port or 80}"
