"""HTTP/1.1 without sockets: bytes in, events out, one request at a time."""

from collections.abc import Iterable, Iterator

import h11

from antiphon.emulator.runtime.http2_events import Data, Ended, Event, Gone, Request

MAX_HEADER_BYTES = 32 * 2**10
"""Of a request line and its headers, as of a chunk's."""

MAX_AHEAD_BYTES = 64 * 2**10
"""Of further requests, while one is being answered."""

Headers = Iterable[tuple[str, str]]


class Http1:
    """The server's side of one connection.

    `receive` and `events` give what is to be done, in order; `take` gives what is to be sent, after anything else.
    """

    def __init__(self) -> None:
        self._h11 = h11.Connection(h11.SERVER, max_incomplete_event_size=MAX_HEADER_BYTES)
        self._number = 0
        self._ahead = 0
        self._out = bytearray()
        self._over = False

    @property
    def over(self) -> bool:
        """Whether the connection is to be closed: no further request can come on it."""
        return self._over or self._h11.our_state in {h11.MUST_CLOSE, h11.CLOSED, h11.ERROR}

    @property
    def unread(self) -> bool:
        """Whether the client is still sending a body that was answered already."""
        return self._h11.our_state is h11.MUST_CLOSE and self._h11.their_state is h11.SEND_BODY

    def receive(self, data: bytes) -> Iterator[Event]:
        """Take what the client sent, and say what it means."""
        if self._over:
            return
        self._h11.receive_data(data)
        if self._h11.their_state is h11.DONE:
            self._ahead += len(data)
            if self._ahead > MAX_AHEAD_BYTES:
                yield self._gone("requests come faster than they are answered")
                return
        yield from self.events()

    def events(self) -> Iterator[Event]:
        """Say what follows from what the client sent before: a request may have waited for the response to another."""
        while not self._over:
            try:
                event = self._h11.next_event()
            except h11.RemoteProtocolError as error:
                self._refuse(error.error_status_hint)
                # Not in its own words: they quote the request.
                yield self._gone(f"no request that can be read: status {error.error_status_hint}")
                return
            if isinstance(event, h11.Request):
                self._number += 1
                yield self._request(event)
            elif isinstance(event, h11.Data):
                yield Data(self._number, bytes(event.data), len(event.data))
            elif isinstance(event, h11.EndOfMessage):
                self._ahead = len(self._h11.trailing_data[0])
                yield Ended(self._number)
            else:
                self._invite()
                return

    def start(self, status: int, headers: Headers) -> None:
        """Send a response's headers."""
        close = [] if self._h11.their_state is h11.DONE else [("connection", "close")]
        encoded = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in (*headers, *close)]
        self._send(h11.Response(status_code=status, headers=encoded))

    def send(self, data: bytes) -> None:
        """Send a piece of a response's body."""
        self._send(h11.Data(data=data))

    def end(self) -> None:
        """End a response; what the client sent meanwhile then has its turn, with `events`."""
        self._send(h11.EndOfMessage())
        if self._h11.our_state is h11.DONE and self._h11.their_state is h11.DONE:
            self._h11.start_next_cycle()

    def take(self) -> bytes:
        """Give what is to be sent now."""
        data, self._out = bytes(self._out), bytearray()
        return data

    def _send(self, event: h11.Response | h11.InformationalResponse | h11.Data | h11.EndOfMessage) -> None:
        self._out += self._h11.send(event) or b""

    def _request(self, event: h11.Request) -> Request:
        """Name what a request line has as HTTP/2 does."""
        headers = [(bytes(name).decode("latin-1"), bytes(value).decode("latin-1")) for name, value in event.headers]
        pseudo = [
            (":method", bytes(event.method).decode("latin-1")),
            (":scheme", "https"),
            (":authority", next((value for name, value in headers if name == "host"), "")),
            (":path", bytes(event.target).decode("latin-1")),
        ]
        return Request(self._number, (*pseudo, *headers))

    def _invite(self) -> None:
        """Ask for a body that the client holds back until it is asked, unless the answer is there already."""
        if self._h11.our_state is h11.SEND_RESPONSE and self._h11.they_are_waiting_for_100_continue:
            self._send(h11.InformationalResponse(status_code=100, headers=[]))

    def _refuse(self, status: int) -> None:
        if self._h11.our_state in {h11.IDLE, h11.SEND_RESPONSE}:
            headers = [(b"content-length", b"0"), (b"connection", b"close")]
            self._send(h11.Response(status_code=status, headers=headers))

    def _gone(self, reason: str) -> Gone:
        self._over = True
        return Gone(reason)
