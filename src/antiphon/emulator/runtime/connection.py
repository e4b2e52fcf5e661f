"""A client's HTTP/2 connection: joins the socket, the protocol and whoever answers its requests."""

import asyncio
import socket
from collections.abc import Callable, Iterable
from functools import partial
from uuid import uuid4

from antiphon.emulator.runtime.http2 import Http2
from antiphon.emulator.runtime.http2_events import Data, Ended, Event, Gone, Request, Reset
from antiphon.emulator.runtime.ports import EventLog, Field
from antiphon.emulator.runtime.stream import Handler, Stream
from antiphon.emulator.runtime.timings import Timings

SEND_BUFFER_BYTES = 64 * 2**10
"""Of one response, before who writes it has to wait."""

WRITE_BUFFER_BYTES = 256 * 2**10
"""Of the socket, before the responses wait."""

MAX_UNREAD_BYTES = 4 * 2**20
"""What the protocol itself may have to say (windows, acknowledgements) to a client that reads nothing."""

_QUICK_ACK = getattr(socket, "TCP_QUICKACK", None)

Route = Callable[[Request, Stream], Handler]


class _Stream:
    """The `Stream` of one request."""

    def __init__(self, connection: "Http2Connection", number: int, log: EventLog, connection_number: int) -> None:
        self._connection = connection
        self._number = number
        self.note = partial(log.write, connection=connection_number, stream=number)

    def start(self, status: int, headers: Iterable[tuple[str, str]]) -> None:
        self._connection.start(self._number, status, headers)

    def write(self, data: bytes) -> None:
        self._connection.write(self._number, data)

    def end(self) -> None:
        self._connection.end(self._number)

    def credit(self, size: int) -> None:
        self._connection.credit(self._number, size)


class Http2Connection(asyncio.Protocol):
    """The socket's side of `Http2`.

    Args:
        number: Names the connection in the log.
        route: Finds who answers a request.
        timings: How long a connection may be without requests.
        log: Where its events go.
        lost: Told when the connection is gone.
    """

    def __init__(
        self, number: int, route: Route, timings: Timings, log: EventLog, lost: Callable[["Http2Connection"], None]
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._number = number
        self._route = route
        self._timings = timings
        self._log = log
        self._lost = lost
        self._http2 = Http2()
        self._handlers: dict[int, Handler] = {}
        self._waiting: dict[int, Handler] = {}
        self._transport: asyncio.Transport | None = None
        self._socket: socket.socket | None = None
        self._writable = True
        self._flushing = False
        self._idle: asyncio.TimerHandle | None = None
        self._reason = "the client went away"
        self._on: dict[type, Callable[[Event], None]] = {}

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Say hello."""
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - what a socket's protocol gets
        self._transport = transport
        self._socket = transport.get_extra_info("socket")
        transport.set_write_buffer_limits(WRITE_BUFFER_BYTES)
        self._idle = self._loop.call_later(self._timings.request_timeout_s, self._shut, "no request came")
        self._flush()

    def data_received(self, data: bytes) -> None:
        """Hand on what the client sent."""
        if _QUICK_ACK is not None and self._socket is not None:
            # The AWS SDKs leave Nagle's algorithm on: a small send waits until the one before is acknowledged.
            self._socket.setsockopt(socket.IPPROTO_TCP, _QUICK_ACK, 1)
        self._flushing = True  # below, with all that comes of it
        for event in self._http2.receive(data, self._loop.time()):
            self._take(event)
        self._flush()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        """Tell whoever was about to answer."""
        self._drop_all()
        self._cancel_idle()
        self.note("connection.closed", reason=self._reason)
        self._lost(self)

    def pause_writing(self) -> None:
        """Keep what there is to send."""
        self._writable = False

    def resume_writing(self) -> None:
        """Send it."""
        self._writable = True
        self._flush()

    def stop(self) -> None:
        """End every response, say that no more will be given, and close."""
        for handler in tuple(self._handlers.values()):
            handler.stop()
        self._flush()
        self._shut("the runtime stops")

    def abort(self) -> None:
        """Cut the connection."""
        if self._transport is not None:
            self._transport.abort()

    def start(self, number: int, status: int, headers: Iterable[tuple[str, str]]) -> None:
        """As `Stream.start`."""
        self._http2.start(number, status, (*headers, ("x-amzn-requestid", str(uuid4()))))
        self._flush_soon()

    def write(self, number: int, data: bytes) -> None:
        """As `Stream.write`."""
        self._http2.send(number, data)
        self._flush_soon()
        if self._http2.waiting(number) > SEND_BUFFER_BYTES and number not in self._waiting:
            handler = self._handlers.get(number)
            if handler is not None:
                self._waiting[number] = handler
                handler.pause_output()

    def end(self, number: int) -> None:
        """As `Stream.end`."""
        self._http2.end(number)
        self._forget(number)
        self._flush_soon()

    def credit(self, number: int, size: int) -> None:
        """As `Stream.credit`."""
        self._http2.credit(number, size)
        self._flush_soon()

    def note(self, event: str, **fields: Field) -> None:
        """Write an event of this connection to the log."""
        self._log.write(event, connection=self._number, **fields)

    def _take(self, event: Event) -> None:
        match event:
            case Data(number, data, credit):
                if (handler := self._handlers.get(number)) is not None:
                    handler.received(data, credit)
            case Request():
                self._begin(event)
            case Ended(number):
                if (handler := self._handlers.get(number)) is not None:
                    handler.ended()
            case Reset(number, error_code):
                self.note("stream.reset", stream=number, error_code=error_code, by="client")
                if (handler := self._forget(number)) is not None:
                    handler.lost()
            case Gone(reason):
                self._flush()
                self._shut(reason)

    def _begin(self, request: Request) -> None:
        self._cancel_idle()
        handler = self._route(request, _Stream(self, request.stream, self._log, self._number))
        self._handlers[request.stream] = handler
        handler.begin()

    def _forget(self, number: int) -> Handler | None:
        self._waiting.pop(number, None)
        handler = self._handlers.pop(number, None)
        if not self._handlers and self._idle is None:
            self._idle = self._loop.call_later(self._timings.idle_timeout_s, self._shut, "idle")
        return handler

    def _flush_soon(self) -> None:
        """What many streams write in one turn of the loop goes out together."""
        if not self._flushing:
            self._flushing = True
            self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        self._flushing = False
        transport = self._transport
        if transport is None or transport.is_closing():
            return
        while data := self._http2.take(WRITE_BUFFER_BYTES if self._writable else 0):
            transport.write(data)
            if len(data) < WRITE_BUFFER_BYTES:
                break  # that was all
        for number in self._http2.answered():
            self._loop.call_later(self._timings.linger_s, self._give_up, number)
        if transport.get_write_buffer_size() > MAX_UNREAD_BYTES:
            self._reason = "the client does not read"
            transport.abort()
        self._wake()

    def _give_up(self, number: int) -> None:
        """End a request whose response has ended: clients wait for the end of their own input otherwise."""
        self._http2.give_up(number)
        self._flush()

    def _wake(self) -> None:
        if self._waiting:
            free = [number for number in self._waiting if self._http2.waiting(number) <= SEND_BUFFER_BYTES // 4]
            for number in free:
                self._waiting.pop(number).resume_output()

    def _shut(self, reason: str) -> None:
        self._reason = reason
        self._drop_all()
        self._http2.close()
        self._flush()
        if self._transport is not None:
            self._transport.close()

    def _drop_all(self) -> None:
        handlers, self._handlers = self._handlers, {}
        self._waiting.clear()
        for handler in handlers.values():
            handler.lost()

    def _cancel_idle(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None
