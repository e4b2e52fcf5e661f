"""A container that answers ``POST /invocations`` with whatever a test scripts, byte by byte."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import h11


@dataclass(slots=True)
class Asked:
    """A request that came."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes


Script = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def response(status: int, body: bytes, **headers: str) -> bytes:
    """A whole response."""
    given = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    return f"HTTP/1.1 {status} x\r\n{given}content-length: {len(body)}\r\n\r\n".encode() + body


def chunk(data: bytes) -> bytes:
    """A piece of a chunked body."""
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


CHUNKED = b"HTTP/1.1 200 OK\r\ncontent-type: audio/pcm\r\ntransfer-encoding: chunked\r\n\r\n"


@dataclass(slots=True)
class HttpContainer:
    """Answers each request with its script, and then closes the connection.

    Attributes:
        url: where it listens.
        script: how it answers.
        asked: the requests that came.
        left: set when the runtime closed a connection before its answer was complete.
        serving: what answers.
    """

    url: str = ""
    script: Script | None = None
    asked: list[Asked] = field(default_factory=list)
    left: asyncio.Event = field(default_factory=asyncio.Event)
    serving: set[asyncio.Task[None]] = field(default_factory=set)

    def answers(self, data: bytes) -> None:
        """Answer with these bytes."""

        async def script(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(data)

        self.script = script

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._serve(reader, writer))
        self.serving.add(task)
        task.add_done_callback(self.serving.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            self.asked.append(await _request(reader))
            assert self.script is not None
            await self.script(reader, writer)
            await writer.drain()
        except ConnectionError:
            self.left.set()
        finally:
            writer.close()

    async def waits(self, reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        """A script: say nothing, and note when the runtime gives up."""
        await reader.read()
        self.left.set()


async def _request(reader: asyncio.StreamReader) -> Asked:
    connection, body, request = h11.Connection(h11.SERVER), b"", None
    while True:
        event = connection.next_event()
        if event is h11.NEED_DATA:
            connection.receive_data(await reader.read(65536))
        elif isinstance(event, h11.Request):
            request = event
        elif isinstance(event, h11.Data):
            body += event.data
        else:
            break
    assert request is not None
    headers = {bytes(name).decode(): bytes(value).decode("latin-1") for name, value in request.headers}
    return Asked(bytes(request.method).decode(), bytes(request.target).decode(), headers, body)


@asynccontextmanager
async def http_container() -> AsyncIterator[HttpContainer]:
    """Run one."""
    container = HttpContainer()
    server = await asyncio.start_server(container.serve, "127.0.0.1", 0)
    container.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield container
    finally:
        server.close()
        for task in container.serving:
            task.cancel()
        await server.wait_closed()
