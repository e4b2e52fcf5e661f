"""The runtime: one TLS port that the AWS SDKs take for SageMaker's."""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import count

from antiphon.emulator.runtime.alive import Alive
from antiphon.emulator.runtime.connection import Http2Connection
from antiphon.emulator.runtime.container import container_client
from antiphon.emulator.runtime.http1_connection import Http1Connection
from antiphon.emulator.runtime.ports import EventLog, Registry
from antiphon.emulator.runtime.routes import Router
from antiphon.emulator.runtime.sidecar import Sidecar
from antiphon.emulator.runtime.timings import Timings
from antiphon.emulator.wire.sigv4 import SigningKeys

MAX_CONNECTIONS = 1024
"""At once, those that have yet to finish their TLS handshake included; one more is closed at once."""

_BACKLOG = 1024
_NO_DESCRIPTORS_S = 0.1


class Runtime:
    """The runtime.

    Args:
        registry: The endpoints.
        keys: Who may invoke them; None lets everyone, and takes events that are not signed.
        timings: How long things may take.
        log: Where events go.
        ssl_context: The server's certificate; what it says of ALPN is set here.
    """

    def __init__(
        self,
        registry: Registry,
        keys: SigningKeys | None,
        timings: Timings,
        log: EventLog,
        ssl_context: ssl.SSLContext,
    ) -> None:
        ssl_context.set_alpn_protocols(["h2", "http/1.1"])
        self._timings = timings
        self._log = log
        self._ssl = ssl_context
        self._numbers = count(1)
        self._greeting = 0
        self._sidecars: Alive[Sidecar] = Alive()
        self._connections: Alive[Http1Connection | Http2Connection] = Alive()
        self._client = container_client()
        router = Router(registry, keys, timings, self._sidecars, self._client)
        self._protocols: dict[str | None, Callable[[int], Http1Connection | Http2Connection]] = {
            "h2": lambda number: Http2Connection(number, router.http2, timings, log, self._connections.discard),
            None: lambda number: Http1Connection(number, router.http1, timings, log, self._connections.discard),
        }

    @asynccontextmanager
    async def listening(self, host: str, port: int) -> AsyncIterator[int]:
        """Listen, give the port, and at the end close every connection, ours to containers too."""
        with _listen(host, port) as listener:
            accepting = asyncio.create_task(self._accept(listener))
            try:
                yield listener.getsockname()[1]
            finally:
                accepting.cancel()
                await asyncio.wait([accepting])
                await self._end()

    async def _accept(self, listener: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        async with asyncio.TaskGroup() as handshakes:
            while True:
                try:
                    client, _ = await loop.sock_accept(listener)
                except OSError:  # no descriptor is left
                    await asyncio.sleep(_NO_DESCRIPTORS_S)
                    continue
                if len(self._connections) + self._greeting >= MAX_CONNECTIONS:
                    client.close()
                else:
                    self._greeting += 1
                    handshakes.create_task(self._shake_hands(client))

    async def _shake_hands(self, client: socket.socket) -> None:
        try:
            await asyncio.get_running_loop().connect_accepted_socket(
                lambda: _Greeting(self._welcome),
                client,
                ssl=self._ssl,
                ssl_handshake_timeout=self._timings.tls_timeout_s,
                ssl_shutdown_timeout=self._timings.stop_timeout_s,
            )
        except OSError as error:  # TLS errors and time-outs too
            self._log.write("handshake.failed", error=type(error).__name__)
        finally:
            self._greeting -= 1

    def _welcome(self, transport: asyncio.Transport) -> asyncio.Protocol:
        """Make the protocol that the client asked for."""
        number = next(self._numbers)
        chosen = transport.get_extra_info("ssl_object").selected_alpn_protocol()
        peer = str(transport.get_extra_info("peername")[0])
        self._log.write("connection.opened", connection=number, peer=peer, protocol=chosen or "http/1.1")
        connection = self._protocols.get(chosen, self._protocols[None])(number)
        self._connections.add(connection)
        return connection

    async def _end(self) -> None:
        for connection in self._connections:
            connection.stop()
        await self._connections.end(self._timings.stop_timeout_s)
        await self._sidecars.end(self._timings.close_timeout_s)
        await self._client.aclose()


class _Greeting(asyncio.Protocol):
    """Stands in until it is known which protocol the client asked for."""

    def __init__(self, welcome: Callable[[asyncio.Transport], asyncio.Protocol]) -> None:
        self._welcome = welcome

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - what a socket's protocol gets
        protocol = self._welcome(transport)
        transport.set_protocol(protocol)
        protocol.connection_made(transport)


def _listen(host: str, port: int) -> socket.socket:
    """Listen; on connections of sockets that name TCP, asyncio turns Nagle's algorithm off."""
    family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    listener = socket.socket(family, kind, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(_BACKLOG)
        listener.setblocking(False)
    except OSError:
        listener.close()
        raise
    return listener
