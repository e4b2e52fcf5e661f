"""An HTTP/2 client that does what a test says, good or bad."""

import asyncio
import ssl
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress

import h2.events
from h2.config import H2Configuration
from h2.connection import H2Connection

from antiphon.emulator.wire.eventstream import Decoder, Message, encode

STREAM = "/endpoints/{}/invocations-bidirectional-stream?"


class Response:
    """What came on one stream.

    Attributes:
        headers: Of the response; empty until they come.
        body: All of it so far.
        ended: Whether the server ended it.
        reset: The error code of the server's RST_STREAM, if one came.
    """

    def __init__(self) -> None:
        self.headers: dict[str, str] = {}
        self.body = bytearray()
        self.ended = False
        self.reset: int | None = None

    @property
    def status(self) -> int:
        return int(self.headers.get(":status", 0))

    @property
    def messages(self) -> list[Message]:
        return list(Decoder().feed(bytes(self.body)))


class RawClient:
    """One connection.

    Attributes:
        h2: The protocol; call `flush` after using it.
        thirsty: Streams of which nothing is credited, so that their window closes.
        goaway: The error code of the server's GOAWAY, if one came.
        closed: Whether the server closed the connection.
        control_frames: Those that came and carry nothing.
    """

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self.writer = writer
        self._changed = asyncio.Condition()
        self.h2 = H2Connection(H2Configuration(client_side=True, header_encoding="utf-8"))
        self.responses: dict[int, Response] = defaultdict(Response)
        self.thirsty: set[int] = set()
        self.goaway: int | None = None
        self.closed = False
        self.h2.initiate_connection()
        # The connection's window is never what a stream waits for.
        self.h2.increment_flow_control_window(2**30)
        self.flush()

    def flush(self) -> None:
        self.writer.write(self.h2.data_to_send())

    def open(
        self, endpoint: str = "ep", extra: Mapping[str, str] | None = None, *, end: bool = False, **pseudo: str
    ) -> int:
        """Send a request's headers; `extra` names use ``_`` for ``-`` and lack the prefix of SageMaker's headers."""
        stream = self.h2.get_next_available_stream_id()
        first = {
            "method": "POST",
            "scheme": "https",
            "authority": "localhost",
            "path": STREAM.format(endpoint),
            **pseudo,
        }
        headers = {
            **{f":{name}": value for name, value in first.items()},
            "content-type": "application/vnd.amazon.eventstream",
            **{f"x-amzn-sagemaker-{name.replace('_', '-')}": value for name, value in (extra or {}).items()},
        }
        self.h2.send_headers(stream, tuple(headers.items()), end_stream=end)
        self.flush()
        return stream

    def send(self, stream: int, data: bytes, *, end: bool = False) -> None:
        self.h2.send_data(stream, data, end_stream=end)
        self.flush()

    def part(self, stream: int, data: bytes, *, text: bool = True, final: bool | None = True) -> None:
        """Send an event that is not signed."""
        self.send(stream, part(data, text=text, final=final))

    async def send_all(self, stream: int, data: bytes) -> None:
        """Send as fast as the windows let it."""
        view = memoryview(data)
        while view:
            room = min(self.h2.local_flow_control_window(stream), self.h2.max_outbound_frame_size)
            if room:
                self.send(stream, bytes(view[:room]))
                view = view[room:]
                await self.writer.drain()
            else:
                await self.until(lambda: self.h2.local_flow_control_window(stream) > 0, 60)

    async def until(self, condition: Callable[[], bool], timeout_s: float = 5) -> None:
        async with asyncio.timeout(timeout_s), self._changed:
            await self._changed.wait_for(condition)

    async def answered(self, stream: int) -> Response:
        """Wait for a response's headers."""
        response = self.responses[stream]
        await self.until(lambda: bool(response.headers) or response.reset is not None)
        return response

    async def ended(self, stream: int) -> Response:
        """Wait for the end of a response."""
        response = self.responses[stream]
        await self.until(lambda: response.ended or response.reset is not None)
        return response

    async def read(self) -> None:
        try:
            while data := await self._reader.read(2**16):
                for event in self.h2.receive_data(data):
                    self._take(event)
                with suppress(ConnectionError):
                    self.flush()
                async with self._changed:
                    self._changed.notify_all()
        except ConnectionError:
            pass
        self.closed = True
        async with self._changed:
            self._changed.notify_all()

    def _take(self, event: h2.events.Event) -> None:
        match event:
            case h2.events.ResponseReceived():
                self.responses[event.stream_id].headers.update(dict(event.headers))  # type: ignore[arg-type] # decoded
            case h2.events.DataReceived():
                self.responses[event.stream_id].body += event.data
                if event.stream_id not in self.thirsty and event.flow_controlled_length:
                    self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            case h2.events.StreamEnded():
                self.responses[event.stream_id].ended = True
            case h2.events.StreamReset():
                self.responses[event.stream_id].reset = int(event.error_code or 0)
            case h2.events.ConnectionTerminated():
                self.goaway = int(event.error_code or 0)


def part(data: bytes, *, text: bool = True, final: bool | None = True) -> bytes:
    """An event that is not signed; `final` None leaves it open whether it is."""
    headers = {":message-type": "event", ":event-type": "PayloadPart", "DataType": "UTF8" if text else "BINARY"}
    if final is not None:
        headers["CompletionState"] = "COMPLETE" if final else "PARTIAL"
    return encode(headers, data)


@asynccontextmanager
async def raw_client(port: int, authority: str, alpn: tuple[str, ...] = ("h2",)) -> AsyncIterator[RawClient]:
    context = ssl.create_default_context(cafile=authority)
    context.set_alpn_protocols(list(alpn))
    reader, writer = await asyncio.open_connection("localhost", port, ssl=context)
    client = RawClient(reader, writer)
    reading = asyncio.create_task(client.read())
    try:
        yield client
    finally:
        writer.transport.abort()
        await asyncio.wait([reading])
        assert reading.exception() is None
