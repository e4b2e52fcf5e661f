"""One exchange on an HTTP/2 connection: a request that is still being sent while its response is received."""

import asyncio
from collections import deque
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from io import BytesIO
from typing import Any

from antiphon.client.sagemaker.http2 import WINDOW_BYTES, Connection, CrtError, crt_errors

MAX_UNREAD_BYTES = 2**26
"""Of one stream, where CRT cannot hold a server back; beyond that the stream is given up."""

MAX_UNSENT_BYTES = 2**16
"""Of one stream that CRT was given and has not sent, beyond which a write waits."""


class StreamLostError(Exception):
    """The exchange ended before it was complete; the message says how."""


@dataclass(frozen=True, slots=True)
class Head:
    """How a response begins."""

    status: int
    headers: tuple[tuple[str, str], ...]


class Exchange:
    """A request that is still being sent while its response is being received. Belongs to the loop that made it.

    Args:
        connection: open; others may use it at the same time.
        request: without a body.

    Raises:
        CrtError: nothing was sent, as the connection takes no more requests.
    """

    def __init__(self, connection: Connection, request: Any) -> None:
        self._connection = connection
        self._inbox = connection.inbox
        self._head: Head | None = None
        self._chunks: deque[bytes] = deque()
        self._unread = 0
        self._buffer = bytearray()
        self._ended = False
        self._request_ended = False
        self._failure: StreamLostError | None = None
        self._news = asyncio.Event()
        self._written = asyncio.Event()
        self._writes: deque[tuple[Future[None], int]] = deque()
        self._unsent = 0
        self._uncredited = 0
        self._write_failed = False
        self.complete = asyncio.Event()
        """Both sides have ended, or the stream is lost."""
        with crt_errors():
            self._stream = connection.crt.request(request, self._on_response, self._on_body, manual_write=True)
        self._stream.completion_future.add_done_callback(lambda future: self._inbox.post(self._completed, future))
        # Tells the end of the response apart from that of the exchange; CRT before 0.29 does not.
        remote_end = getattr(self._stream, "remote_end_stream_future", None)
        if remote_end is not None:
            remote_end.add_done_callback(lambda future: self._inbox.post(self._remote_ended, future))
        with crt_errors():
            self._stream.activate()

    # In CRT's thread.

    def _on_response(self, status_code: int, headers: list[tuple[str, str]], **_: object) -> None:
        self._inbox.post(self._begun, Head(status_code, tuple(headers)))

    def _on_body(self, chunk: bytes, **_: object) -> None:
        self._inbox.post(self._arrived, bytes(chunk))

    # In the loop.

    def _begun(self, head: Head) -> None:
        self._head = head
        self._news.set()

    def _arrived(self, chunk: bytes) -> None:
        if self._ended:
            return
        self._chunks.append(chunk)
        self._unread += len(chunk)
        if self._unread > MAX_UNREAD_BYTES:
            self.abandon(f"more than {MAX_UNREAD_BYTES // 2**20} MiB arrived that nobody read")
        self._news.set()

    def _remote_ended(self, future: "Future[None]") -> None:
        if future.exception() is None:
            self._end(None)

    def _completed(self, future: "Future[int]") -> None:
        error = future.exception()
        self._end(StreamLostError(_describe(error)) if error is not None else None)
        self.complete.set()
        self._written.set()

    def _end(self, failure: StreamLostError | None) -> None:
        if not self._ended:
            self._ended = True
            self._failure = failure
        self._news.set()

    async def head(self) -> Head:
        """Wait for the response to begin.

        Raises:
            StreamLostError: it never will.
        """
        while self._head is None:
            if self._ended:
                raise self._failure or StreamLostError("the stream ended without a response")
            await self._wait()
        return self._head

    async def read(self, size: int) -> bytes:
        """Read exactly `size` bytes of the response; fewer only at its end, in good order.

        Raises:
            StreamLostError: it was cut off, and everything that arrived has been read.
        """
        while len(self._buffer) < size:
            if self._chunks:
                self._take(self._chunks.popleft())
            elif self._ended and self._failure is not None:
                raise self._failure
            elif self._ended:
                break
            else:
                await self._wait()
        data = bytes(self._buffer[:size])
        del self._buffer[:size]
        return data

    def _take(self, chunk: bytes) -> None:
        self._buffer += chunk
        self._unread -= len(chunk)
        self._uncredited += len(chunk)
        # Half a window at a time: a frame for each chunk would cost more than the chunk.
        if self._uncredited >= WINDOW_BYTES // 2 and self._connection.holds_back and not self._ended:
            with suppress(CrtError), crt_errors():  # it may have ended meanwhile
                self._stream.update_window(self._uncredited)
            self._uncredited = 0

    async def _wait(self) -> None:
        self._news.clear()
        await self._news.wait()

    async def write(self, data: bytes) -> None:
        """Send a part of the request's body; waits while the server takes nothing.

        What fails after this returned is told by the next write, or by `end_request`.

        Raises:
            StreamLostError: the server takes no more.
        """
        # A turn through CRT's thread for each small event would hold up those behind it.
        self._check_writes()
        while self._unsent > MAX_UNSENT_BYTES:
            await self._until_written()
        self._write(data, end=False)

    async def end_request(self) -> None:
        """Send the end of the request's body, and wait until all of it has been sent.

        Raises:
            StreamLostError: the server takes no more.
        """
        self._request_ended = True
        self._check_writes()
        self._write(b"", end=True)
        while self._writes:
            await self._until_written()

    def _write(self, data: bytes, *, end: bool) -> None:
        if self.complete.is_set():
            raise StreamLostError(_OVER)
        with suppress(CrtError), crt_errors():
            writing = self._stream.write_data(BytesIO(data) if data else None, end_stream=end)
            self._writes.append((writing, len(data)))
            self._unsent += len(data)
            return
        raise StreamLostError(_OVER)

    def _check_writes(self) -> None:
        """Look what has become of the writes, now that it matters: a call from CRT's thread for each is dear."""
        while self._writes and self._writes[0][0].done():
            writing, size = self._writes.popleft()
            self._unsent -= size
            self._write_failed |= writing.exception() is not None
        if self._write_failed or (self._writes and self.complete.is_set()):
            raise StreamLostError(_OVER)

    async def _until_written(self) -> None:
        # CRT forgets a write that waits when the server ends the stream: its future is never done.
        self._written.clear()
        self._writes[0][0].add_done_callback(lambda _: self._inbox.post(self._written.set))
        await self._written.wait()
        self._check_writes()

    def abandon(self, why: str) -> None:
        """Let whoever waits here hear `why`, and end the request.

        CRT cannot reset a stream: the server may go on with its response, as far as the window lets it.
        """
        self._end(StreamLostError(why))
        if not self._request_ended and not self.complete.is_set():
            self._request_ended = True
            with suppress(CrtError), crt_errors():
                self._stream.write_data(None, end_stream=True)


_OVER = "the server takes no more"

_ENDINGS = {
    "AWS_ERROR_HTTP_CONNECTION_CLOSED": "the connection was lost",
    "AWS_IO_SOCKET_CLOSED": "the connection was lost",
    "AWS_ERROR_HTTP_RST_STREAM_RECEIVED": "the stream was reset",
    "AWS_ERROR_HTTP_GOAWAY_RECEIVED": "the server ends its connections",
}


def _describe(error: BaseException) -> str:
    name = getattr(error, "name", type(error).__name__)
    return _ENDINGS.get(name, f"the stream broke ({name})")
