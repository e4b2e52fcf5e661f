"""uvicorn's HTTP, with its bounds on time and number also for clients that have not asked for anything yet."""

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol

_FULL = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"


class BoundedProtocol(H11Protocol):
    """A connection whose time between two requests counts from its beginning, and until the next one's last header.

    uvicorn's ``timeout_keep_alive`` ends with the first byte of a request, and its ``limit_concurrency`` begins with
    the last header; whoever sends neither could stay for ever, in any number.
    """

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn narrows it
        """Turn away one connection too many; give the others time for a request."""
        super().connection_made(transport)
        if self.limit_concurrency is not None and len(self.connections) > self.limit_concurrency:
            transport.write(_FULL)
            transport.close()
            return
        self._watch()

    def data_received(self, data: bytes) -> None:
        """As uvicorn, which may have begun a request or handed the connection to a WebSocket afterwards."""
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        """As uvicorn; the time for the next request begins."""
        super().on_response_complete()
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """As uvicorn."""
        super().connection_lost(exc)
        self._disarm()

    def _watch(self) -> None:
        """Let the deadline be set if, and only if, the client is expected to begin a request."""
        # uvicorn's annotation does not say that there is no cycle before the first request.
        answered = self.cycle is None or self.cycle.response_complete  # type: ignore[redundant-expr]
        if not answered or self.transport.is_closing() or self.transport.get_protocol() is not self:
            self._disarm()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(self.timeout_keep_alive, self.timeout_keep_alive_handler)

    def _disarm(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
