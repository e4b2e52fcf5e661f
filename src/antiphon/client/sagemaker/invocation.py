"""A blocking call and its stream of parts, in a thread of its own, for an event loop that takes them one by one."""

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any, Protocol

PARTS_AHEAD = 8
"""Parts that may wait to be taken; then the thread does not read, and so slows the server down."""

MAX_INVOCATIONS = 64
"""Under way at once in a process, those included that were abandoned and still wait for their answer to begin."""

_LOOK_S = 1.0
_under_way = threading.BoundedSemaphore(MAX_INVOCATIONS)


class TooManyInvocationsError(Exception):
    """`MAX_INVOCATIONS` are under way."""


class PartStream(Protocol):
    """What boto3 gives as the body of ``InvokeEndpointWithResponseStream``."""

    def __iter__(self) -> Iterator[dict[str, Any]]: ...

    def close(self) -> None:
        """Close the connection below."""
        ...


class Invocation:
    """A call under way. Its end has to be taken, or it has to be abandoned.

    The thread is a daemon: one that waits for a server must not keep a program from ending.

    Args:
        call: makes the call and returns its stream, both blocking.

    Raises:
        TooManyInvocationsError: at the bound.
    """

    def __init__(self, call: Callable[[], PartStream]) -> None:
        if not _under_way.acquire(blocking=False):
            raise TooManyInvocationsError(f"{MAX_INVOCATIONS} invocations are under way")
        self._call = call
        self._loop = asyncio.get_running_loop()
        self._parts: deque[bytes | Exception | None] = deque()
        self._changed = asyncio.Event()
        self._room = threading.Semaphore(PARTS_AHEAD)
        self._stream: PartStream | None = None
        self._ended = asyncio.Event()
        self.abandoned = False
        """Whether nobody waits for its parts any more."""
        threading.Thread(target=self._run, name="antiphon-invocation", daemon=True).start()

    async def next_part(self) -> bytes | None:
        """Wait for the next part; None is the end. At most one task waits.

        Raises:
            Exception: whatever the call or its stream raised.
        """
        while not self._parts and not self.abandoned:
            self._changed.clear()
            await self._changed.wait()
        if self.abandoned:
            return None
        part = self._parts.popleft()
        self._room.release()
        if isinstance(part, Exception):
            raise part
        return part

    def abandon(self) -> None:
        """Take nothing more: who waits for a part gets the end, and a stream that has begun is broken off.

        A call whose answer has not begun cannot be broken off; it is closed as soon as it does, or at its time-out.
        """
        self.abandoned = True
        self._changed.set()
        self._room.release()
        stream = self._stream
        if stream is not None:
            _interrupt(stream)

    async def ended(self, timeout_s: float) -> bool:
        """Wait for the thread to end, for so long; return whether it did."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self._ended.wait()
        return self._ended.is_set()

    # In the thread.

    def _run(self) -> None:
        try:
            outcome = self._read()
        finally:
            # Before the end is told: who hears of it may begin the next one.
            _under_way.release()
        self._hand_over(outcome)
        self._tell(self._ended.set)

    def _read(self) -> Exception | None:
        """Hand over every part; return why there are no more."""
        try:
            stream = self._call()
            try:
                # First this, then the look, as `abandon` does it the other way round: one of both sees the other.
                self._stream = stream
                if not self.abandoned:
                    self._hand_over_all(stream)
            finally:
                self._stream = None
                stream.close()
        except Exception as error:  # noqa: BLE001 - it is raised where the parts are taken
            return error
        return None

    def _hand_over_all(self, stream: PartStream) -> None:
        for event in stream:
            part = event.get("PayloadPart", {}).get("Bytes", b"")
            if part and not self._hand_over(part):
                return

    def _hand_over(self, part: bytes | Exception | None) -> bool:
        """Give a part to the event loop once there is room; False when nobody takes it any more."""
        while not self.abandoned and not self._room.acquire(timeout=_LOOK_S):
            if self._loop.is_closed():
                return False
        return not self.abandoned and self._tell(partial(self._take, part))

    def _tell(self, what: Callable[[], object]) -> bool:
        try:
            self._loop.call_soon_threadsafe(what)
        except RuntimeError:  # the loop is closed
            return False
        return True

    def _take(self, part: bytes | Exception | None) -> None:
        self._parts.append(part)
        self._changed.set()


def _interrupt(stream: PartStream) -> None:
    """Wake the thread that reads a stream: closing it would wait for that thread, as both need the buffer's lock."""
    raw = getattr(stream, "_raw_stream", None)
    shut_down = getattr(raw, "shutdown", None)  # urllib3 from 2.3 on; before, the read time-out is what ends it
    if shut_down is not None:
        with suppress(ValueError, RuntimeError, OSError):  # it has just ended by itself
            shut_down()
