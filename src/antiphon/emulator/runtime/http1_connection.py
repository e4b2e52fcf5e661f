"""A client's HTTP/1.1 connection: joins the socket, the protocol and whoever answers its requests."""

import asyncio
from collections.abc import Callable, Iterable
from uuid import uuid4

from antiphon.emulator.runtime.connection import WRITE_BUFFER_BYTES, Route
from antiphon.emulator.runtime.http1 import Http1
from antiphon.emulator.runtime.http2_events import Data, Ended, Event, Gone, Request
from antiphon.emulator.runtime.ports import EventLog, Field
from antiphon.emulator.runtime.stream import Handler
from antiphon.emulator.runtime.timings import Timings


class Http1Connection(asyncio.Protocol):
    """The socket's side of `Http1`; it is the `Stream` of the request that is being answered.

    Args:
        number: Names the connection in the log.
        route: Finds who answers a request.
        timings: How long a connection may be without requests.
        log: Where its events go.
        lost: Told when the connection is gone.
    """

    def __init__(
        self, number: int, route: Route, timings: Timings, log: EventLog, lost: Callable[["Http1Connection"], None]
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._number = number
        self._route = route
        self._timings = timings
        self._log = log
        self._lost = lost
        self._http1 = Http1()
        self._stream = 0
        self._handler: Handler | None = None
        self._transport: asyncio.Transport | None = None
        self._writable = True
        self._timer: asyncio.TimerHandle | None = None
        self._idle = False
        self._reason = "the client went away"

    # From the socket

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Wait for a request."""
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - what a socket's protocol gets
        self._transport = transport
        transport.set_write_buffer_limits(WRITE_BUFFER_BYTES)
        self._arm(self._timings.request_timeout_s, "no request came")

    def data_received(self, data: bytes) -> None:
        """Hand on what the client sent."""
        if self._idle:
            self._arm(self._timings.request_timeout_s, "no request came")
        self._take(self._http1.receive(data))

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        """Tell whoever was about to answer."""
        self._drop()
        self._disarm()
        self._write_log("connection.closed", reason=self._reason)
        self._lost(self)

    def pause_writing(self) -> None:
        """Let the response wait for the client."""
        self._writable = False
        if self._handler is not None:
            self._handler.pause_output()

    def resume_writing(self) -> None:
        """Let the response go on."""
        self._writable = True
        if self._handler is not None:
            self._handler.resume_output()

    # From the runtime

    def stop(self) -> None:
        """End the response, and close."""
        if self._handler is not None:
            self._handler.stop()
        self._shut("the runtime stops")

    def abort(self) -> None:
        """Cut the connection."""
        if self._transport is not None:
            self._transport.abort()

    # From the handler

    def start(self, status: int, headers: Iterable[tuple[str, str]]) -> None:
        """As `Stream.start`."""
        self._http1.start(status, (*headers, ("x-amzn-requestid", str(uuid4()))))
        self._flush()

    def write(self, data: bytes) -> None:
        """As `Stream.write`."""
        self._http1.send(data)
        self._flush()

    def end(self) -> None:
        """As `Stream.end`."""
        self._handler = None
        self._http1.end()
        self._flush()
        if self._http1.unread:
            # A connection that is closed while something comes in may take the answer with it.
            self._arm(self._timings.close_timeout_s, "the client goes on after its answer")
        elif self._http1.over:
            self._shut("no further request may come")
        else:
            self._arm(self._timings.idle_timeout_s, "idle")
            self._idle = True
            self._loop.call_soon(self._go_on)

    def credit(self, size: int) -> None:
        """As `Stream.credit`; HTTP/1.1 has no windows, who takes a body has to bound it."""

    def note(self, event: str, **fields: Field) -> None:
        """As `Stream.note`."""
        self._write_log(event, stream=self._stream, **fields)

    # Between them

    def _go_on(self) -> None:
        """Answer what came in while another request was answered."""
        self._take(self._http1.events())

    def _take(self, events: Iterable[Event]) -> None:
        for event in events:
            match event:
                case Request():
                    self._begin(event)
                case Data(_, data, credit) if self._handler is not None:
                    self._handler.received(data, credit)
                case Ended() if self._handler is not None:
                    self._handler.ended()
                case Ended() if self._http1.over:
                    self._shut("no further request may come")
                case Gone(reason):
                    self._flush()
                    self._shut(reason)
        self._flush()

    def _begin(self, request: Request) -> None:
        self._disarm()
        self._stream = request.stream
        self._handler = handler = self._route(request, self)
        handler.begin()
        if self._handler is handler and not self._writable:
            handler.pause_output()

    def _flush(self) -> None:
        data = self._http1.take()
        if data and self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)

    def _shut(self, reason: str) -> None:
        self._reason = reason
        self._drop()
        self._disarm()
        if self._transport is not None:
            self._transport.close()

    def _drop(self) -> None:
        handler, self._handler = self._handler, None
        if handler is not None:
            handler.lost()

    def _arm(self, seconds: float, reason: str) -> None:
        self._disarm()
        self._timer = self._loop.call_later(seconds, self._shut, reason)

    def _disarm(self) -> None:
        self._idle = False
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _write_log(self, event: str, **fields: Field) -> None:
        self._log.write(event, connection=self._number, **fields)
