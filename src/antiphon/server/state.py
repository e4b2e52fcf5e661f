"""What the routes share: the engine, what is under way, and whether the server is on its way out."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from antiphon.server.metrics import Metrics
from antiphon.server.session import SessionRunner
from antiphon.server.settings import ServerSettings
from antiphon.server.speaker import Speaker

# Left to sessions that were not done in time, to send their close frame.
CLOSING_TIME_S = 1.0


@dataclass(slots=True)
class ServerState:
    """One server's shared state; belongs to its event loop.

    Attributes:
        sessions: open WebSocket sessions.
        requests: HTTP requests for speech under way.
        draining: nobody new is served.
    """

    settings: ServerSettings
    speaker: Speaker
    metrics: Metrics
    sessions: set[SessionRunner] = field(default_factory=set)
    requests: int = 0
    draining: bool = False
    _left: asyncio.Event = field(default_factory=asyncio.Event)

    def enter(self, session: SessionRunner) -> None:
        """A session began."""
        self.sessions.add(session)
        self.metrics.sessions.inc()

    def leave(self, session: SessionRunner) -> None:
        """A session ended."""
        self.sessions.discard(session)
        self.metrics.sessions.dec()
        self.metrics.sessions_total.labels(session.outcome).inc()
        self._left.set()

    @contextmanager
    def request(self) -> Iterator[None]:
        """A request for speech is under way."""
        self.requests += 1
        try:
            yield
        finally:
            self.requests -= 1
            self._left.set()

    async def drain(self, timeout_s: float) -> bool:
        """Serve nobody new and let what is under way end; whether it did in time. Sessions that did not are closed."""
        self.draining = True
        for session in list(self.sessions):
            session.shut_down()
        if await self._all_left(timeout_s):
            return True
        for session in list(self.sessions):
            session.cut_off()
        await self._all_left(CLOSING_TIME_S)
        return False

    async def _all_left(self, timeout_s: float) -> bool:
        try:
            async with asyncio.timeout(timeout_s):
                while self.sessions or self.requests:
                    self._left.clear()
                    await self._left.wait()
        except TimeoutError:
            return False
        return True
