"""A bidirectional stream's input: bytes of events in, WebSocket frames out. No socket, no clock."""

from collections.abc import Callable, Iterator

from antiphon.emulator.wire.eventstream import Decoder, EventStreamError, Message, encode
from antiphon.emulator.wire.parts import Assembler, Frame, PartError, parse_part
from antiphon.emulator.wire.sigv4 import SignatureError

Unwrap = Callable[[Message], bytes]
"""Verifies an event and gives the one inside; empty at the end of the input."""


def unwrap_unverified(outer: Message) -> bytes:
    """Give the event inside a signed one, whatever its signature, or an event that is not signed."""
    if ":chunk-signature" in outer.headers or not (outer.headers or outer.payload):
        return outer.payload
    return encode(outer.headers, outer.payload)


class InputError(Exception):
    """The input cannot be gone on with.

    Attributes:
        code: What AWS calls it.
    """

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.code = code


class InputFrames:
    """Turns the input into frames.

    Attributes:
        ended: Whether the input is over; what follows is ignored.
        ended_by_event: Whether an empty event said so.
    """

    def __init__(self, unwrap: Unwrap) -> None:
        self._unwrap = unwrap
        self._decoder = Decoder()
        self._assembler = Assembler()
        self.ended = False
        self.ended_by_event = False

    @property
    def unfinished_bytes(self) -> int:
        """Of an event that has begun."""
        return self._decoder.pending_bytes

    def drop(self) -> None:
        """Let go the event that has begun: nothing more will be taken."""
        self._decoder.drop()

    def feed(self, data: bytes) -> Iterator[Frame]:
        """Give the frames that this piece completes.

        Raises:
            InputError: it is no event stream, an event is not signed as it must be, or is no part.
        """
        try:
            for message in self._decoder.feed(data):
                if self.ended:
                    return
                inner = self._unwrap(message)
                if inner:
                    yield self._assembler.frame(parse_part(inner))
                else:
                    self.ended = self.ended_by_event = True
        except SignatureError as error:
            raise InputError(str(error), error.name) from None
        except (EventStreamError, PartError) as error:
            raise InputError(f"the input is no stream of parts: {error}", "ValidationError") from None

    def end(self) -> None:
        """Take the end of the request's body.

        Raises:
            InputError: it ends within an event.
        """
        if self._decoder.pending_bytes and not self.ended:
            raise InputError("the input ends within an event", "ValidationError")
        self.ended = True
