"""HTTP/2 without sockets: bytes in, events out, fair and bounded buffers between.

`h2` knows the protocol. This adds what a server has to decide: how much a client may send before it is taken, which
stream sends next, and how much of what costs a client nothing is too much.
"""

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from h2 import events as h2_events
from h2.errors import ErrorCodes
from h2.exceptions import ProtocolError
from h2.settings import SettingCodes

from antiphon.emulator.runtime.budget import Budget
from antiphon.emulator.runtime.http2_events import Data, Ended, Event, Gone, Request, Reset
from antiphon.emulator.runtime.http2_protocol import ServerConnection

MAX_STREAMS = 512
"""At once on a connection."""

STREAM_WINDOW_BYTES = 65_535
"""What a client may send on a stream before it is taken; with the streams it bounds a connection's memory."""

CONNECTION_WINDOW_BYTES = 16 * 2**20
"""Credited as it comes in, so that a stream nobody takes from leaves the others theirs."""

MAX_HEADER_BYTES = 32 * 2**10
"""Of one request's headers: a session token has up to 2 KiB, a query string as much."""

# PING, SETTINGS, RST_STREAM, PRIORITY, unknown and empty DATA frames. A client with all its streams open may reset them
# at once, twice over.
_CHEAP_FRAMES, _CHEAP_FRAMES_PER_S = 2.0 * MAX_STREAMS, 100.0

_CHEAP = {
    h2_events.PingReceived,
    h2_events.RemoteSettingsChanged,
    h2_events.StreamReset,
    h2_events.PriorityUpdated,
    h2_events.UnknownFrameReceived,
}

Headers = Iterable[tuple[str, str]]


class _Outgoing:
    """What a stream has yet to send."""

    __slots__ = ("data", "ending", "queued")

    def __init__(self) -> None:
        self.data = bytearray()
        self.ending = False
        self.queued = False


class Http2:
    """The server's side of one connection.

    Call `take` after anything else, and send what it gives.
    """

    def __init__(self) -> None:
        self._h2 = ServerConnection(MAX_STREAMS, STREAM_WINDOW_BYTES, CONNECTION_WINDOW_BYTES, MAX_HEADER_BYTES)
        self._outgoing: dict[int, _Outgoing] = {}
        self._ready: deque[int] = deque()
        self._answered: list[int] = []
        self._credits: dict[int, int] = {}
        """Of the streams whose input is open: what was taken and not yet given back."""
        self._connection_credit = 0
        self._cheap = Budget(_CHEAP_FRAMES, _CHEAP_FRAMES_PER_S)
        self._over = False
        self._meanings: dict[type, Callable[[Any], Event | None]] = {
            h2_events.RequestReceived: self._request,
            h2_events.DataReceived: self._data,
            h2_events.StreamEnded: self._ended,
            h2_events.StreamReset: self._reset,
            h2_events.WindowUpdated: self._window,
            h2_events.RemoteSettingsChanged: self._settings,
            h2_events.ConnectionTerminated: self._terminated,
        }

    def receive(self, data: bytes, now: float) -> list[Event]:
        """Take what the client sent, and say what it means."""
        if self._over:
            return []
        try:
            received = self._h2.receive_data(data)
        except ProtocolError as error:
            return [self._gone(type(error).__name__)]
        events: list[Event] = []
        for event in received:
            if self._is_cheap(event) and not self._cheap.spend(now):
                self._h2.close_connection(ErrorCodes.ENHANCE_YOUR_CALM)
                return [*events, self._gone("too many frames that carry nothing")]
            handle = self._meanings.get(type(event))
            if handle is not None and (meaning := handle(event)) is not None:
                events.append(meaning)
        self._credit_connection()
        return events

    def credit(self, stream: int, size: int) -> None:
        """Let the client send this much more on a stream."""
        if self._over or stream not in self._credits:
            return
        credit = self._credits[stream] + size
        # Half a window at a time: a frame for each frame would cost more than it frees.
        if credit >= STREAM_WINDOW_BYTES // 2:
            self._h2.increment_flow_control_window(credit, stream)
            credit = 0
        self._credits[stream] = credit

    def start(self, stream: int, status: int, headers: Headers) -> None:
        """Send a response's headers."""
        if stream in self._outgoing:
            self._h2.send_headers(stream, [(":status", str(status)), *headers])

    def send(self, stream: int, data: bytes) -> None:
        """Send a piece of a response's body when the stream's turn comes."""
        outgoing = self._outgoing.get(stream)
        if outgoing is not None:
            outgoing.data += data
            self._queue(stream, outgoing)

    def end(self, stream: int) -> None:
        """End a response after what it has yet to send."""
        outgoing = self._outgoing.get(stream)
        if outgoing is not None:
            outgoing.ending = True
            self._queue(stream, outgoing)

    def answered(self) -> list[int]:
        """Give the streams whose response went out whole, since this was last asked, while their request goes on."""
        answered, self._answered = self._answered, []
        return answered

    def give_up(self, stream: int) -> None:
        """Let a client that was answered know that its request is not read any more, unless it has ended it."""
        if self._credits.pop(stream, None) is not None:
            self._h2.reset_stream(stream, ErrorCodes.NO_ERROR)

    def waiting(self, stream: int) -> int:
        """Tell how many bytes a stream has yet to send."""
        outgoing = self._outgoing.get(stream)
        return 0 if outgoing is None else len(outgoing.data)

    def close(self) -> None:
        """Say that no stream will be taken any more, and drop what is left of those there are."""
        if not self._over:
            self._h2.close_connection()
            self._gone("closed")

    def take(self, limit: int) -> bytes:
        """Give what is to be sent now: all that keeps the connection going, and up to about `limit` bytes of bodies."""
        while limit > 0 and self._ready and self._h2.outbound_flow_control_window > 0:
            limit -= self._send_some(self._ready.popleft())
        return self._h2.data_to_send()

    def _queue(self, stream: int, outgoing: _Outgoing) -> None:
        if not outgoing.queued:
            outgoing.queued = True
            self._ready.append(stream)

    def _send_some(self, stream: int) -> int:
        """Send one frame of a stream, and queue it behind the others if it has more and may send it."""
        outgoing = self._outgoing.get(stream)
        if outgoing is None:
            return 0
        outgoing.queued = False
        data = outgoing.data
        size = min(len(data), self._h2.local_flow_control_window(stream), self._h2.max_outbound_frame_size)
        if size <= 0 < len(data):
            return 0  # until the client opens the window
        ends = outgoing.ending and size == len(data)
        self._h2.send_data(stream, bytes(memoryview(data)[:size]), end_stream=ends)
        if ends:
            self._forget(stream)
        else:
            del data[:size]
            if data or outgoing.ending:
                self._queue(stream, outgoing)
        return size

    def _forget(self, stream: int) -> None:
        del self._outgoing[stream]
        if stream in self._credits:
            self._answered.append(stream)

    def _is_cheap(self, event: object) -> bool:
        return type(event) in _CHEAP or (
            type(event) is h2_events.DataReceived and not event.data and event.stream_ended is None
        )

    def _credit_connection(self) -> None:
        if self._connection_credit >= CONNECTION_WINDOW_BYTES // 2 and not self._over:
            self._h2.increment_flow_control_window(self._connection_credit)
            self._connection_credit = 0

    def _gone(self, reason: str) -> Gone:
        self._over = True
        self._outgoing.clear()
        self._credits.clear()
        self._ready.clear()
        return Gone(reason)

    def _request(self, event: h2_events.RequestReceived) -> Request:
        self._outgoing[event.stream_id] = _Outgoing()
        self._credits[event.stream_id] = 0
        return Request(event.stream_id, tuple((str(name), str(value)) for name, value in event.headers))

    def _data(self, event: h2_events.DataReceived) -> Data | None:
        size = event.flow_controlled_length
        self._connection_credit += size
        return Data(event.stream_id, event.data, size) if size else None

    def _ended(self, event: h2_events.StreamEnded) -> Ended:
        self._credits.pop(event.stream_id, None)
        return Ended(event.stream_id)

    def _reset(self, event: h2_events.StreamReset) -> Reset:
        self._outgoing.pop(event.stream_id, None)
        self._credits.pop(event.stream_id, None)
        return Reset(event.stream_id, int(event.error_code or 0))

    def _window(self, event: h2_events.WindowUpdated) -> None:
        outgoing = self._outgoing.get(event.stream_id)
        if outgoing is not None and outgoing.data:
            self._queue(event.stream_id, outgoing)

    def _settings(self, event: h2_events.RemoteSettingsChanged) -> None:
        if SettingCodes.INITIAL_WINDOW_SIZE in event.changed_settings:
            for stream, outgoing in self._outgoing.items():
                if outgoing.data:
                    self._queue(stream, outgoing)

    def _terminated(self, event: h2_events.ConnectionTerminated) -> Gone | None:
        if event.error_code == ErrorCodes.NO_ERROR and self._outgoing:
            return None  # it opens no further streams, and closes when it has what it waits for
        return self._gone("the client said goodbye")
