"""The runtime, as tests run it."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.emulator.runtime.raw_client import RawClient, raw_client
from tests.emulator.runtime.raw_container import Connection, RawContainer, raw_container

from antiphon.emulator.runtime.connection import Http2Connection
from antiphon.emulator.runtime.ports import Field
from antiphon.emulator.runtime.server import Runtime
from antiphon.emulator.runtime.timings import Timings
from antiphon.emulator.wire.sigv4 import SigningKeys

TIMINGS = Timings()


async def eventually(condition: Callable[[], bool], timeout_s: float = 5) -> None:
    """Wait for what another task does."""
    async with asyncio.timeout(timeout_s):
        while not condition():  # noqa: ASYNC110 - conditions of many kinds, each of which would need its event
            await asyncio.sleep(0.005)


@dataclass(frozen=True, slots=True)
class Backend:
    url: str
    variants: tuple[str, ...] = ("AllTraffic", "Canary")
    in_service: bool = True


class Registry:
    def __init__(self, backends: Mapping[str, Backend]) -> None:
        self._backends = backends

    def find(self, name: str) -> Backend | None:
        return self._backends.get(name)


@dataclass(slots=True)
class Log:
    """Keeps events."""

    events: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def write(self, event: str, **fields: Field) -> None:
        self.events.append((event, fields))

    def all(self, event: str) -> list[dict[str, Any]]:
        return [fields for name, fields in self.events if name == event]


@dataclass(frozen=True, slots=True)
class Certificate:
    """Files, in PEM."""

    authority: Path
    chain: Path
    key: Path

    def context(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.chain, self.key)
        return context


@dataclass(frozen=True, slots=True)
class Rig:
    """A runtime, the container behind its endpoint ``ep``, and a client."""

    runtime: Runtime
    port: int
    container: RawContainer
    client: RawClient
    log: Log

    async def stream(self, **extra: str) -> tuple[int, Connection]:
        """Open a stream; give it and the container's end."""
        stream = self.client.open(extra=extra)
        response = await self.client.answered(stream)
        assert response.status == 200, bytes(response.body)
        return stream, await self.container.connected()

    @property
    def connection(self) -> Http2Connection:
        """The client's connection, as the runtime has it."""
        (connection,) = self.runtime._connections
        assert isinstance(connection, Http2Connection)
        return connection

    async def logged(self, event: str, times: int = 1) -> list[dict[str, Any]]:
        """Wait until the log has an event."""
        await eventually(lambda: len(self.log.all(event)) >= times)
        return self.log.all(event)


@asynccontextmanager
async def runtime_for(
    registry: Registry, certificate: Certificate, log: Log, timings: Timings = TIMINGS, keys: SigningKeys | None = None
) -> AsyncIterator[tuple[Runtime, int]]:
    """A runtime and its port."""
    runtime = Runtime(registry, keys, timings, log, certificate.context())
    async with runtime.listening("127.0.0.1", 0) as port:
        yield runtime, port


@asynccontextmanager
async def rig(
    certificate: Certificate, timings: Timings = TIMINGS, keys: SigningKeys | None = None
) -> AsyncIterator[Rig]:
    log = Log()
    async with raw_container() as container:
        backends = {
            "ep": Backend(container.url),
            "cold": Backend(container.url, in_service=False),
            "nowhere": Backend("http://127.0.0.1:1"),
            "nameless": Backend("http://a..b:80"),
        }
        async with (
            runtime_for(Registry(backends), certificate, log, timings, keys) as (runtime, port),
            raw_client(port, str(certificate.authority)) as client,
        ):
            yield Rig(runtime, port, container, client, log)
