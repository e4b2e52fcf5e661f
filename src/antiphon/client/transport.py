"""What a client needs of a connection, whatever carries it."""

from typing import Protocol, runtime_checkable


class ConnectionClosedError(Exception):
    """The connection is over.

    Attributes:
        code: a WebSocket close code (RFC 6455 §7.4.1); 1006 when it ended without a close frame.
        reason: the other side's words; may be empty.
    """

    def __init__(self, code: int, reason: str = "") -> None:
        super().__init__(f"closed with code {code}{': ' if reason else ''}{reason}")
        self.code = code
        self.reason = reason


@runtime_checkable
class Transport(Protocol):
    """An open connection that carries messages both ways. One task sends, one receives, anyone closes."""

    async def send(self, data: str) -> None:
        """Send a text message; waits while the other side takes nothing.

        Raises:
            ConnectionClosedError: the connection is over.
        """
        ...

    async def receive(self) -> str | bytes:
        """Wait for the next message. Is not cancelled halfway; `close` ends it.

        Raises:
            ConnectionClosedError: the connection is over, and everything that arrived has been received.
        """
        ...

    async def close(self, code: int = 1000, reason: str = "") -> None:
        """End the connection; a `receive` or `send` that waits raises. Idempotent, takes bounded time."""
        ...
