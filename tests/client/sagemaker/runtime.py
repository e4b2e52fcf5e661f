"""A runtime that does as a script says: HTTP/2 and the event stream, with every way to fail.

It checks every signature by a rule of its own, written from AWS's description of signed event streams.
"""

import asyncio
import hashlib
import hmac
import json
import ssl
import struct
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import h2.config
import h2.connection
import h2.events
from h2.errors import ErrorCodes
from h2.settings import SettingCodes, Settings
from hyperframe.frame import GoAwayFrame

KEY_ID = "AKIDEXAMPLE"
SECRET = "s3cret-of-the-tests"  # noqa: S105 - of this file
REGION = "eu-test-1"


@dataclass(frozen=True, slots=True)
class Sent:
    """What a client sent in one event."""

    data: bytes
    headers: dict[str, str]


def event(headers: dict[str, str], payload: bytes) -> bytes:
    """Encode an event."""
    encoded = b"".join(
        bytes([len(name)]) + name.encode() + b"\x07" + struct.pack(">H", len(value)) + value.encode()
        for name, value in headers.items()
    )
    prelude = struct.pack(">II", 16 + len(encoded) + len(payload), len(encoded))
    message = prelude + struct.pack(">I", zlib.crc32(prelude)) + encoded + payload
    return message + struct.pack(">I", zlib.crc32(message))


def part(data: bytes, *, text: bool = False, last: bool = True) -> bytes:
    """Encode a part of a message."""
    kinds = {"DataType": "UTF8" if text else "BINARY", "CompletionState": "COMPLETE" if last else "PARTIAL"}
    headers = {":message-type": "event", ":event-type": "PayloadPart", ":content-type": "application/octet-stream"}
    return event({**headers, **kinds}, data)


def failure(name: str, **fields: str) -> bytes:
    """Encode an exception in the stream."""
    headers = {":message-type": "exception", ":exception-type": name, ":content-type": "application/json"}
    return event(headers, json.dumps(fields).encode())


@dataclass
class Stream:
    """One request, as the script sees it."""

    connection: "Connection"
    number: int
    headers: dict[str, str]
    events: asyncio.Queue[Sent | None] = field(default_factory=asyncio.Queue)
    buffer: bytearray = field(default_factory=bytearray)
    previous: str = ""
    scope: str = ""

    def begin(self, status: int = 200, **headers: str) -> None:
        """Send the response's headers."""
        named = [(name.replace("_", "-"), value) for name, value in headers.items()]
        content = [] if "content_type" in headers else [("content-type", "application/vnd.amazon.eventstream")]
        self.connection.h2.send_headers(self.number, [(":status", str(status)), *content, *named])
        self.connection.flush()

    async def write(self, data: bytes) -> None:
        """Send a part of the response, as the client's windows let it."""
        machine = self.connection.h2
        while data:
            while (room := machine.local_flow_control_window(self.number)) <= 0:
                self.connection.window.clear()
                await self.connection.window.wait()
            size = min(room, machine.max_outbound_frame_size, len(data))
            machine.send_data(self.number, data[:size])
            self.connection.flush()
            data = data[size:]

    def end(self) -> None:
        """End the response."""
        self.connection.h2.end_stream(self.number)
        self.connection.flush()

    def reset(self, code: ErrorCodes = ErrorCodes.NO_ERROR) -> None:
        """Reset the stream."""
        self.connection.h2.reset_stream(self.number, code)
        self.connection.flush()

    async def refuse(self, status: int, name: str | None, **fields: str | int) -> None:
        """Answer with an error."""
        headers = {"x_amzn_errortype": name} if name else {}
        self.begin(status, content_type="application/json", **headers)
        await self.write(json.dumps(fields).encode())
        self.end()

    async def close(self, code: int, reason: str) -> None:
        """End as the service does when the container has closed."""
        await self.write(
            failure("ModelStreamError", Message=f"closed: code={code}, reason={reason}", ErrorCode="Closed")
        )
        self.end()
        with suppress(Exception):  # the client has ended too
            self.reset()

    async def echo(self) -> None:
        """Send everything back until the client ends."""
        while (sent := await self.events.get()) is not None:
            await self.write(part(sent.data, text=sent.headers.get("DataType") == "UTF8"))

    def received(self, data: bytes) -> None:
        self.buffer += data
        while len(self.buffer) >= 4 and len(self.buffer) >= (size := struct.unpack_from(">I", self.buffer)[0]):
            message = bytes(self.buffer[:size])
            del self.buffer[:size]
            inner = self._verified(message)
            if inner:
                self.events.put_nowait(_decode(inner))

    def _verified(self, message: bytes) -> bytes:
        headers, payload = _split(message)
        date = headers[":date"]
        stamp = _stamp(struct.unpack(">q", date)[0])
        date_header = b"\x05:date\x08" + date
        hashes = [hashlib.sha256(item).hexdigest() for item in (date_header, payload)]
        to_sign = "\n".join(["AWS4-HMAC-SHA256-PAYLOAD", stamp, self.scope, self.previous, *hashes])
        expected = hmac.new(_key(self.scope), to_sign.encode(), hashlib.sha256).hexdigest()
        if expected != headers[":chunk-signature"].hex():
            self.connection.faults.append(f"an event of stream {self.number} breaks the chain of signatures")
        self.previous = expected
        return payload


def _stamp(ms: int) -> str:
    return datetime.fromtimestamp(ms // 1000, UTC).strftime("%Y%m%dT%H%M%SZ")


def _key(scope: str) -> bytes:
    key = f"AWS4{SECRET}".encode()
    for item in scope.split("/"):
        key = hmac.new(key, item.encode(), hashlib.sha256).digest()
    return key


def _split(message: bytes) -> tuple[dict[str, bytes], bytes]:
    _, size, prelude_crc = struct.unpack_from(">III", message)
    assert zlib.crc32(message[:8]) == prelude_crc
    assert zlib.crc32(message[:-4]) == struct.unpack(">I", message[-4:])[0]
    headers: dict[str, bytes] = {}
    at, end = 12, 12 + size
    while at < end:
        length = message[at]
        name = message[at + 1 : at + 1 + length].decode()
        kind = message[at + 1 + length]
        at += 2 + length
        if kind == 8:
            headers[name] = message[at : at + 8]
            at += 8
        else:
            length = struct.unpack_from(">H", message, at)[0]
            headers[name] = message[at + 2 : at + 2 + length]
            at += 2 + length
    return headers, message[end:-4]


def _decode(inner: bytes) -> Sent:
    headers, payload = _split(inner)
    return Sent(payload, {name: value.decode() for name, value in headers.items()})


type Script = Callable[[Stream], Awaitable[None]]


class Connection(asyncio.Protocol):
    """One TCP connection."""

    def __init__(self, runtime: "Runtime") -> None:
        self.runtime = runtime
        self.faults = runtime.faults
        self.h2 = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False, header_encoding="utf-8"))
        self.streams: dict[int, Stream] = {}
        self.window = asyncio.Event()
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.runtime.connections.append(self)
        self.runtime.idle.clear()
        self.h2.local_settings = Settings(
            client=False, initial_values={SettingCodes.MAX_CONCURRENT_STREAMS: self.runtime.max_streams}
        )
        self.h2.initiate_connection()
        self.flush()

    def flush(self) -> None:
        data = self.h2.data_to_send()
        if data and self.transport is not None:
            self.transport.write(data)

    def drop(self) -> None:
        """Lose the connection, without a word."""
        assert self.transport is not None
        self.transport.abort()

    def go_away(self) -> None:
        """Say that no more streams are taken."""
        assert self.transport is not None
        self.transport.write(GoAwayFrame(last_stream_id=max(self.streams)).serialize())

    def connection_lost(self, exc: Exception | None) -> None:
        self.runtime.connections.remove(self)
        if not self.runtime.connections:
            self.runtime.idle.set()
        for stream in self.streams.values():
            stream.events.put_nowait(None)

    def data_received(self, data: bytes) -> None:
        for happened in self.h2.receive_data(data):
            self._handle(happened)
        self.flush()

    def _handle(self, happened: h2.events.Event) -> None:
        match happened:
            case h2.events.RequestReceived(stream_id=int(number), headers=list(headers)):
                self._begin(number, {str(name): str(value) for name, value in headers})
            case h2.events.DataReceived(stream_id=int(number)):
                if not self.runtime.deaf:
                    self.h2.acknowledge_received_data(happened.flow_controlled_length or 0, number)
                self.streams[number].received(happened.data or b"")
            case h2.events.StreamEnded(stream_id=int(number)):
                self.streams[number].events.put_nowait(None)
            case h2.events.WindowUpdated():
                self.window.set()

    def _begin(self, number: int, headers: dict[str, str]) -> None:
        stream = self.streams[number] = Stream(self, number, headers)
        credential = headers["authorization"].split("Credential=")[1].split(",")[0]
        stream.scope = credential.split("/", 1)[1]
        stream.previous = headers["authorization"].rsplit("Signature=", 1)[1]
        self.faults += [] if credential.startswith(f"{KEY_ID}/") else ["a request has another key"]
        self.faults += [] if stream.previous == _request_signature(stream) else ["the signature of a request is wrong"]
        self.runtime.streams.append(stream)
        self.runtime.run(stream)


def _request_signature(stream: Stream) -> str:
    headers = {**stream.headers, "host": stream.headers[":authority"]}
    signed = stream.headers["authorization"].split("SignedHeaders=")[1].split(",")[0]
    path = headers[":path"].removesuffix("?")
    values = [f"{name}:{headers[name]}" for name in signed.split(";")]
    canonical = "\n".join(["POST", path, "", *values, "", signed, "STREAMING-AWS4-HMAC-SHA256-EVENTS"])
    digest = hashlib.sha256(canonical.encode()).hexdigest()
    to_sign = "\n".join(["AWS4-HMAC-SHA256", headers["x-amz-date"], stream.scope, digest])
    return hmac.new(_key(stream.scope), to_sign.encode(), hashlib.sha256).hexdigest()


class Runtime:
    """The server."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.port = 0
        self.deaf = False
        self.max_streams = 1000
        self.connections: list[Connection] = []
        self.idle = asyncio.Event()
        """Nobody is connected."""
        self.idle.set()
        self.streams: list[Stream] = []
        self.faults: list[str] = []
        self._tasks: set[asyncio.Task[None]] = set()

    def run(self, stream: Stream) -> None:
        task = asyncio.ensure_future(self._run(stream))
        self._tasks.add(task)

    async def _run(self, stream: Stream) -> None:
        try:
            await self.script(stream)
        except AssertionError as error:
            self.faults.append(f"the script of stream {stream.number}: {error}")
        except h2.exceptions.ProtocolError:
            return  # the client was faster

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    @asynccontextmanager
    async def listening(self, certificate: tuple[Path, Path]) -> AsyncIterator["Runtime"]:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificate)
        context.set_alpn_protocols(["h2"])
        server = await asyncio.get_running_loop().create_server(lambda: Connection(self), "127.0.0.1", 0, ssl=context)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()
            for connection in list(self.connections):
                connection.drop()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            await self.idle.wait()
