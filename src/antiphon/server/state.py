"""What the routes share: the engine, the open sessions, and whether the server is on its way out."""

import asyncio
from dataclasses import dataclass, field

from antiphon.server.metrics import Metrics
from antiphon.server.session import SessionRunner
from antiphon.server.settings import ServerSettings
from antiphon.server.speaker import Speaker


@dataclass(slots=True)
class ServerState:
    """One server's shared state; belongs to its event loop."""

    settings: ServerSettings
    speaker: Speaker
    metrics: Metrics
    sessions: set[SessionRunner] = field(default_factory=set)
    draining: bool = False
    _left: asyncio.Event = field(default_factory=asyncio.Event)

    def enter(self, session: SessionRunner) -> None:
        """A session began."""
        self.sessions.add(session)
        self.metrics.sessions.inc()

    def leave(self, session: SessionRunner, outcome: str) -> None:
        """A session ended."""
        self.sessions.discard(session)
        self.metrics.sessions.dec()
        self.metrics.sessions_total.labels(outcome).inc()
        self._left.set()

    async def drain(self, timeout_s: float) -> bool:
        """Take no new session, let the open ones end where nothing is cut off; whether all did in time."""
        self.draining = True
        for session in list(self.sessions):
            session.shut_down()
        try:
            async with asyncio.timeout(timeout_s):
                while self.sessions:
                    self._left.clear()
                    await self._left.wait()
        except TimeoutError:
            return False
        return True
