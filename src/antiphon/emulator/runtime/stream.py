"""A request on an HTTP/2 connection, as the code that answers it sees it."""

from collections.abc import Iterable
from typing import Protocol

from antiphon.emulator.runtime.ports import Field
from antiphon.emulator.wire.errors import AwsError


class Handler(Protocol):
    """Who answers a request. Nothing here waits, and nothing is called after `lost` or after it ended the response."""

    def begin(self) -> None:
        """Start to answer."""

    def received(self, data: bytes, credit: int) -> None:
        """Take a piece of the request's body; give `credit` back with `Stream.credit` once there is room for more."""

    def ended(self) -> None:
        """Learn that the request's body is complete."""

    def lost(self) -> None:
        """Learn that nobody waits for the response any more."""

    def pause_output(self) -> None:
        """Write nothing more: the client does not take what there is."""

    def resume_output(self) -> None:
        """Go on writing."""

    def stop(self) -> None:
        """End the response soon: the runtime stops."""


class Stream(Protocol):
    """What a handler may do with its request."""

    def start(self, status: int, headers: Iterable[tuple[str, str]]) -> None:
        """Send the response's headers, once."""

    def write(self, data: bytes) -> None:
        """Send a piece of its body; `Handler.pause_output` follows when that is enough for now."""

    def end(self) -> None:
        """End the response, and with it the request."""

    def credit(self, size: int) -> None:
        """Let the client send this much more."""

    def note(self, event: str, **fields: Field) -> None:
        """Write an event of this stream to the log."""


def refuse(stream: Stream, error: AwsError) -> None:
    """Answer a request with an error."""
    body = error.body()
    stream.start(error.status, error.headers())
    stream.note("response", status=error.status, error=error.name)
    stream.write(body)
    stream.end()
