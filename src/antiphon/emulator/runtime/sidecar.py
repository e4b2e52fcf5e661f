"""The sidecar: a WebSocket to the container whose frames pass one to one, as they are, in both directions."""

import asyncio
import logging
from typing import Protocol
from urllib.parse import urlsplit

from websockets.client import ClientProtocol
from websockets.exceptions import InvalidStatus, WebSocketException
from websockets.frames import Close, CloseCode, Frame, Opcode
from websockets.http11 import Response
from websockets.protocol import SEND_EOF, State
from websockets.typing import BytesLike
from websockets.uri import WebSocketURI

from antiphon.emulator.runtime.alive import Alive
from antiphon.emulator.runtime.container import failure
from antiphon.emulator.runtime.timings import Timings
from antiphon.emulator.wire import parts

MAX_FRAME_BYTES = 16 * 2**20
"""As large as an event's payload may be."""

WRITE_BUFFER_BYTES = 64 * 2**10
"""What the container has not taken yet, before the client is told to wait."""

MAX_UNREAD_BYTES = 2 * MAX_FRAME_BYTES
"""As much of it as there may be: a frame above all of that, and pongs, which nobody can be told to wait with."""

_OPCODES = {opcode: Opcode(opcode) for opcode in parts.Opcode}

# Not in the tree of loggers: `websockets` tells frames at DEBUG, and they are what somebody said.
_SILENT = logging.Logger("antiphon.emulator.sidecar", logging.ERROR)  # noqa: LOG001 - its place in no tree is the point


class SidecarError(Exception):
    """The container did not accept a WebSocket.

    Attributes:
        status: What it answered, if it did.
    """

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class Listener(Protocol):
    """Who hears from the container."""

    def opened(self) -> None:
        """Learn that the container accepted."""

    def frame(self, opcode: parts.Opcode, fin: bool, data: BytesLike) -> None:
        """Take a data frame."""

    def pause_input(self) -> None:
        """Send nothing more: the container does not take what there is."""

    def resume_input(self) -> None:
        """Go on sending."""

    def ping(self, missed: int) -> None:
        """Learn that the container is asked for a sign of life, and how many times it gave none."""

    def closed(self, code: int, reason: str, by: str) -> None:
        """Learn that the container's connection is over, once; `by` is ``container`` or ``runtime``."""


class Sidecar(asyncio.Protocol):
    """A connection to the container.

    Args:
        url: Where the container listens, ``http://host:port``.
        path: What to open there; it may have a query.
        listener: Who hears from it.
        timings: How long it may take to accept, to give a sign of life, and to close.
        alive: Where the connection is to be found for as long as there is one.
    """

    def __init__(self, url: str, path: str, listener: Listener, timings: Timings, alive: "Alive[Sidecar]") -> None:
        self._loop = asyncio.get_running_loop()
        self._url = url
        self._uri = _websocket_uri(url, path)
        self._listener = listener
        self._timings = timings
        self._alive = alive
        # Whole messages are as long as they are: nothing is put together here.
        self._websocket = ClientProtocol(self._uri, max_size=(None, MAX_FRAME_BYTES), logger=_SILENT)
        self._transport: asyncio.Transport | None = None
        self._opened = self._loop.create_future()
        self._timer: asyncio.TimerHandle | None = None
        self._accepted = False
        self._reading = True
        self._unanswered = 0
        self._closed_by = "container"
        self._told = False

    async def open(self) -> None:
        """Connect, and wait until the container has accepted.

        Raises:
            SidecarError: nobody there, refused, or not in time.
        """
        self._alive.add(self)
        try:
            async with asyncio.timeout(self._timings.handshake_timeout_s):
                await self._loop.create_connection(lambda: self, self._uri.host, self._uri.port)
                await self._opened
        except (OSError, UnicodeError) as error:  # TimeoutError is the former, a name that cannot be one the latter
            raise SidecarError(failure("no WebSocket at the container", error, self._url)) from None
        except InvalidStatus as error:
            status = error.response.status_code
            raise SidecarError(f"the container answered {status}", status) from None
        except WebSocketException as error:
            raise SidecarError(f"the container is no WebSocket server: {type(error).__name__}") from None
        finally:
            if not self._accepted:  # also when who waits was cancelled
                self._opened.cancel()
                self.abort()
                if self._transport is None:
                    self._alive.discard(self)

    def send(self, frame: parts.Frame) -> None:
        """Send a frame with the next `flush`, unless the connection is closing."""
        if self._websocket.state is State.OPEN:
            self._websocket.send_frame(Frame(_OPCODES[frame.opcode], frame.data, frame.fin))

    def flush(self) -> None:
        """Let go out what was sent."""
        transport = self._transport
        for data in self._websocket.data_to_send():
            if transport is None or transport.is_closing():
                return
            if data == SEND_EOF:
                transport.write_eof()
            else:
                transport.write(data)
        if transport is not None and transport.get_write_buffer_size() > MAX_UNREAD_BYTES:
            transport.abort()

    def close(self, code: int) -> None:
        """Close from this side; the container has a while to answer."""
        if self._websocket.state is State.OPEN:
            self._closed_by = "runtime"
            self._websocket.send_close(code)
            self.flush()
            self.resume_reading()  # its answer may wait behind what was not read
            self._await_end()
        elif self._websocket.state is State.CONNECTING:
            self.abort()

    def abort(self) -> None:
        """Cut the connection."""
        if self._transport is not None:
            self._transport.abort()

    def pause_reading(self) -> None:
        """Let the container wait."""
        if self._reading and self._transport is not None and not self._transport.is_closing():
            self._reading = False
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Let it go on."""
        if not self._reading and self._transport is not None and not self._transport.is_closing():
            self._reading = True
            self._transport.resume_reading()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Ask for a WebSocket."""
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - what `create_connection` makes
        transport.set_write_buffer_limits(WRITE_BUFFER_BYTES)
        self._transport = transport
        self._websocket.send_request(self._websocket.connect())
        self.flush()

    def data_received(self, data: bytes) -> None:
        """Pass on the frames in what was read."""
        self._websocket.receive_data(data)
        for event in self._websocket.events_received():
            if isinstance(event, Frame):
                self._frame(event)
            elif isinstance(event, Response):
                self._response()
        self.flush()
        if self._websocket.parser_exc is not None:
            self._broken()

    def eof_received(self) -> None:
        """Let the WebSocket know; asyncio then closes the transport."""
        self._websocket.receive_eof()
        self.flush()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        """Tell it, if nobody did before."""
        if self._timer is not None:
            self._timer.cancel()
        if not self._opened.done():
            self._opened.set_exception(self._websocket.handshake_exc or ConnectionResetError())
        self._tell(Close(CloseCode.ABNORMAL_CLOSURE, ""))
        self._alive.discard(self)

    def pause_writing(self) -> None:
        """Pass it on."""
        self._listener.pause_input()

    def resume_writing(self) -> None:
        """Pass it on."""
        self._listener.resume_input()

    def _response(self) -> None:
        if self._opened.done():
            return
        if self._websocket.handshake_exc is not None:
            self._opened.set_exception(self._websocket.handshake_exc)
            return
        self._opened.set_result(None)
        self._accepted = True
        self._timer = self._loop.call_later(self._timings.ping_interval_s, self._ping)
        # At once: its first frames may be in the same packet.
        self._listener.opened()

    def _frame(self, frame: Frame) -> None:
        if frame.opcode is Opcode.PONG:
            self._unanswered = 0
        elif frame.opcode is Opcode.CLOSE:
            if self._websocket.close_rcvd is not None:
                self._tell(self._websocket.close_rcvd)
            self._await_end()
        elif frame.opcode is not Opcode.PING:
            self._listener.frame(parts.Opcode(frame.opcode), frame.fin, frame.data)

    def _broken(self) -> None:
        """The container broke the protocol; `websockets` has said so to it."""
        self._closed_by = "runtime"
        self._tell(self._websocket.close_sent or Close(CloseCode.ABNORMAL_CLOSURE, ""))
        self._await_end()

    def _ping(self) -> None:
        if self._unanswered >= self._timings.missed_pongs:
            self._closed_by = "runtime"
            self._tell(Close(CloseCode.ABNORMAL_CLOSURE, "ping timeout"))
            self.abort()
            return
        self._listener.ping(self._unanswered)
        # While nothing is read, no pong is either.
        self._unanswered += self._reading
        self._websocket.send_ping(self._unanswered.to_bytes(4))
        self.flush()
        self._timer = self._loop.call_later(self._timings.ping_interval_s, self._ping)

    def _await_end(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_later(self._timings.close_timeout_s, self.abort)

    def _tell(self, close: Close) -> None:
        if self._accepted and not self._told:
            self._told = True
            self._listener.closed(close.code, close.reason, self._closed_by)


def _websocket_uri(url: str, path: str) -> WebSocketURI:
    parts = urlsplit(url)
    bare, _, query = path.partition("?")
    return WebSocketURI(False, parts.hostname or "127.0.0.1", parts.port or 80, bare, query)
