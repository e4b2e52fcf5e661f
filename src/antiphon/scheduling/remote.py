"""A unit that an asynchronous engine synthesises elsewhere."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

from antiphon.audio.pcm import PcmChunk

_log = logging.getLogger(__name__)

# How long a source may take to be told that nobody listens any more.
CLOSE_TIMEOUT_S = 5.0


class RemoteSynthesis:
    """An asynchronous stream of chunks that can be closed by a plain call, also while a chunk is awaited.

    Args:
        stream: from the engine.
        spawn: runs a coroutine to its end in a task that somebody keeps.
    """

    def __init__(self, stream: AsyncIterator[PcmChunk], spawn: Callable[[Coroutine[Any, Any, None]], None]) -> None:
        self._stream = stream
        self._spawn = spawn
        self._awaiting: asyncio.Task[Any] | None = None
        self._closed = False

    async def step(self) -> PcmChunk | None:
        """Return the next chunk; None at the end, or once closed."""
        if self._closed:
            return None
        self._awaiting = asyncio.current_task()
        try:
            return await anext(self._stream, None)
        except asyncio.CancelledError:
            if not self._closed or self._awaiting is None:
                raise
            self._awaiting.uncancel()
            return None
        finally:
            self._awaiting = None
            if self._closed:
                await self._close_source()

    def close(self) -> None:
        """Cancel the step in progress and close the stream at its source. Idempotent."""
        if self._closed:
            return
        self._closed = True
        if self._awaiting is not None:
            self._awaiting.cancel()
        else:
            self._spawn(self._close_source())

    async def _close_source(self) -> None:
        aclose = getattr(self._stream, "aclose", None)
        if aclose is None:
            return
        try:
            async with asyncio.timeout(CLOSE_TIMEOUT_S):
                await aclose()
        except Exception as error:  # noqa: BLE001 - the unit is over, whether its source could be told or not
            # Only the type: the message may quote what was spoken.
            _log.warning("a stream could not be closed at its source: %s", type(error).__name__)
