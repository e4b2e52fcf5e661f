"""uvicorn's WebSockets, with bounds on what a client can make the server hold and do at once."""

import asyncio

from uvicorn._types import ASGISendEvent
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import Frame
from websockets.protocol import State

from antiphon.protocol.closing import CloseCause

# The largest message in the pieces of 4 KiB that some clients' buffers cut it into.
MAX_FRAGMENTS = 4096
# A read is parsed in one go, and others wait meanwhile: in this much there are at most 1365 frames, a few milliseconds.
READ_BYTES = 8192


class BoundedWebSocket(WebSocketsSansIOProtocol, asyncio.BufferedProtocol):
    """A WebSocket whose client gets little at once, and nothing that grows with what it does not read."""

    _late_pong: bytes | None = None

    # asyncio reads 256 KiB at once, or into what a `BufferedProtocol` gives it.

    def get_buffer(self, sizehint: int) -> bytearray:  # noqa: ARG002 - asyncio's signature
        """Give room for one read."""
        self._read = bytearray(READ_BYTES)
        return self._read

    def buffer_updated(self, nbytes: int) -> None:
        """Parse what was read."""
        self.data_received(bytes(memoryview(self._read)[:nbytes]))

    # A pong for the latest ping answers those before it too (RFC 6455 §5.5.3), so one is enough to keep.

    def handle_ping(self) -> None:
        """Answer at once if the client takes answers, and otherwise once it does."""
        if self.close_sent:
            self.conn.data_to_send()
        elif self.writable.is_set() or self.conn.state is not State.OPEN:
            super().handle_ping()
        elif pongs := self.conn.data_to_send():
            self._late_pong = pongs[-1]

    def resume_writing(self) -> None:
        """As uvicorn; the client takes answers again."""
        super().resume_writing()
        if self._late_pong is not None and self.conn.state is State.OPEN:
            self.transport.write(self._late_pong)
        self._late_pong = None

    def handle_cont(self, event: Frame) -> None:
        """As uvicorn, up to a bound: its own is on bytes, and a fragment may have none."""
        if self.close_sent:
            return
        if len(self.frames) >= MAX_FRAGMENTS:
            self._fail(1009, f"a message has at most {MAX_FRAGMENTS} fragments")
        else:
            super().handle_cont(event)

    def send_receive_event_to_app(self) -> None:
        """As uvicorn, which takes bytes that are no text for a fault of the server's, and says nothing to the client."""
        self.frames = [b"".join(self.frames)]
        if self.curr_msg_data_type == "text" and not self.close_sent and not _is_utf8(self.frames[0]):
            self._fail(1007, "a text message is not valid UTF-8")
        else:
            super().send_receive_event_to_app()

    async def send(self, message: ASGISendEvent) -> None:
        """As uvicorn, which does not count an HTTP answer as an end of the handshake, and calls it an error."""
        await super().send(message)
        if message["type"] == "websocket.http.response.body" and not message.get("more_body", False):
            self.handshake_complete = True

    def shutdown(self) -> None:
        """As uvicorn, with a reason."""
        if self.handshake_complete and not self.close_sent:
            self.stop_keepalive()
            self._fail(CloseCause.CUT_OFF.code, CloseCause.CUT_OFF.reason)
        else:
            super().shutdown()

    def _fail(self, code: int, reason: str) -> None:
        """Close, unless the client has done so meanwhile."""
        if self.conn.state is State.OPEN:
            self.conn.fail(code, reason)
            # Sends what `fail` left to be sent, and tells the application.
            self.handle_parser_exception()


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
