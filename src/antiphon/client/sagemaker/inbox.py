"""What threads of CRT have to tell an event loop, in few words.

`asyncio.AbstractEventLoop.call_soon_threadsafe` writes to a socket for every call and lets go of the interpreter for
it. A thread that reports thousands of events a second and has to wait for its turn twice for each falls behind.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import suppress


class Inbox:
    """Calls for one event loop, in the order in which they were posted.

    Args:
        loop: that makes the calls. It may have been closed meanwhile: then nobody wants them.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._calls: deque[tuple[Callable[..., object], tuple[object, ...]]] = deque()
        self._awake = False

    def post(self, callback: Callable[..., object], *arguments: object) -> None:
        """Have `callback` called in the loop, soon. May be called in any thread."""
        self._calls.append((callback, arguments))
        if not self._awake:
            self._awake = True
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._empty)

    def _empty(self) -> None:
        # In this order: what is posted from here on wakes the loop again, or is found below.
        self._awake = False
        try:
            while self._calls:
                callback, arguments = self._calls.popleft()
                callback(*arguments)
        finally:
            if self._calls:
                self._loop.call_soon(self._empty)
