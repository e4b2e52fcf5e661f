"""The server on this process's own event loop, behind a real socket, where its insides can be watched."""

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from antiphon.scheduling import Scheduler
from antiphon.server.app import create_app
from antiphon.server.runner import listen, serve
from antiphon.server.settings import ServerSettings
from antiphon.server.state import ServerState


@dataclass(frozen=True, slots=True)
class ServerHere:
    """A running server.

    Attributes:
        address: host and port.
        state: what its routes share.
    """

    address: tuple[str, int]
    state: ServerState

    @property
    def scheduler(self) -> Scheduler:
        """Who steps the engine."""
        return self.state.speaker.scheduler


@asynccontextmanager
async def serving_here(settings: ServerSettings) -> AsyncIterator[ServerHere]:
    """Serve on `settings.port` until the block ends; from the main thread only, as it ends by SIGTERM."""
    app = create_app(settings)
    sock = listen(settings)
    running = asyncio.create_task(serve(app, sock))
    state: ServerState = app.state.server
    await state.speaker.settled()
    try:
        yield ServerHere(sock.getsockname()[:2], state)
    finally:
        if not running.done():
            signal.raise_signal(signal.SIGTERM)
        await running
