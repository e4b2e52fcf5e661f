"""An HTTP server that answers ``InvokeEndpointWithResponseStream`` as a test tells it to, one byte string at a time."""

import json
import ssl
import struct
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from zlib import crc32

from antiphon.audio.wavfile import wav_header

RATE = 16_000


def event(headers: dict[str, str], payload: bytes) -> bytes:
    """A message of AWS's event stream, its headers strings."""
    lines = b"".join(
        bytes([len(name)]) + name.encode() + b"\7" + struct.pack(">H", len(value)) + value.encode()
        for name, value in headers.items()
    )
    prelude = struct.pack(">II", 16 + len(lines) + len(payload), len(lines))
    message = prelude + struct.pack(">I", crc32(prelude)) + lines + payload
    return message + struct.pack(">I", crc32(message))


def part(data: bytes) -> bytes:
    return event(
        {":message-type": "event", ":event-type": "PayloadPart", ":content-type": "application/octet-stream"}, data
    )


def exception(name: str, **fields: str) -> bytes:
    headers = {":message-type": "exception", ":exception-type": name, ":content-type": "application/json"}
    return event(headers, json.dumps(fields).encode())


def speech(samples: bytes) -> list[bytes]:
    return [part(wav_header(RATE)), part(samples)]


def spelled(text: str) -> bytes:
    """One sample for a character."""
    return text.encode("utf-16-le")


@dataclass(frozen=True, slots=True)
class Request:
    path: str
    headers: dict[str, str]
    body: dict[str, Any]


class BreakOffError(Exception):
    """Raised while a response is made: the connection is cut."""


@dataclass(slots=True)
class Response:
    """What to answer: parts of a chunked body, or an error of AWS."""

    parts: Iterable[bytes] = ()
    status: int = 200
    error: str = ""
    fields: dict[str, Any] = field(default_factory=dict)


class FakeRuntime:
    """The server, what it was asked, and what it answers."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.answer: Callable[[Request], Response] = lambda request: Response(speech(spelled(request.body["input"])))
        self.hung_up = threading.Event()
        """A client has closed a connection that was being written to."""
        self.url = ""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    runtime: FakeRuntime

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(self.path, headers, json.loads(body))
        self.runtime.requests.append(request)
        try:
            response = self.runtime.answer(request)
            (self._refuse if response.error else self._stream)(response)
        except BreakOffError:
            self.close_connection = True
        except OSError:
            self.close_connection = True
            self.runtime.hung_up.set()

    def _refuse(self, response: Response) -> None:
        body = json.dumps(response.fields).encode()
        self.send_response(response.status)
        self.send_header("x-amzn-errortype", response.error)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _stream(self, response: Response) -> None:
        self.send_response(response.status)
        self.send_header("content-type", "application/vnd.amazon.eventstream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for data in response.parts:
            self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
        self.wfile.write(b"0\r\n\r\n")

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: Any) -> None:
        """A client that hangs up is what some tests are about."""


@contextmanager
def fake_runtime(certificate: tuple[Path, Path] | None = None) -> Iterator[FakeRuntime]:
    runtime = FakeRuntime()
    server = _Server(("127.0.0.1", 0), type("Handler", (_Handler,), {"runtime": runtime}))
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    runtime.url = f"{'http' if certificate is None else 'https'}://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield runtime
    finally:
        with suppress(OSError):
            server.shutdown()
        thread.join()
        server.server_close()
