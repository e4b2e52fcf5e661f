"""Connections to SageMaker, shared by the streams of one event loop and closed with the last of them."""

import asyncio
from contextlib import suppress
from typing import Any
from weakref import WeakKeyDictionary

from antiphon.client.sagemaker.http2 import MAX_STREAMS, Authority, Connection, connect, settled

CLOSE_TIMEOUT_S = 1.0
"""For the socket of a connection to close; it closes by itself if that takes longer."""


class Lease:
    """One stream's right to use a connection, until it is released."""

    def __init__(self, shared: "_Shared") -> None:
        self._shared: _Shared | None = shared
        self.connection = shared.opening.result()
        """Open, when it was given out."""

    async def release(self, *, retire: bool = False) -> None:
        """Give the connection back; idempotent. Nobody else using it, it closes.

        Args:
            retire: give it to no one else: it is broken, or has a stream that does not end.
        """
        shared, self._shared = self._shared, None
        if shared is not None:
            shared.retired |= retire
            await shared.leave()


class _Shared:
    """A connection, from the attempt to make it on, and how many use or wait for it."""

    def __init__(self, pool: "_Pool", authority: Authority, timeout_s: float) -> None:
        self._pool = pool
        self.authority = authority
        self.users = 0
        self.retired = False
        connecting = connect(authority, timeout_s)
        self.opening: asyncio.Task[Connection] = asyncio.create_task(connecting, name="antiphon-sagemaker-connect")

    @property
    def has_room(self) -> bool:
        if self.retired or self.users >= MAX_STREAMS:
            return False
        if not self.opening.done():
            return True
        if self.opening.cancelled() or self.opening.exception() is not None:
            return False
        connection = self.opening.result()
        return connection.is_open and self.users < connection.max_streams

    async def join(self) -> Lease:
        self.users += 1
        try:
            await asyncio.shield(self.opening)
            return Lease(self)
        except BaseException:
            await self.leave()
            raise

    async def leave(self) -> None:
        self.users -= 1
        if self.users:
            return
        self._pool.shared.remove(self)
        if not self.opening.done():
            self.opening.cancel()
        elif not self.opening.cancelled() and self.opening.exception() is None:
            closing = self.opening.result().close()
            with suppress(Exception):  # of the shutdown; it is closed either way
                await asyncio.wait_for(settled(closing), CLOSE_TIMEOUT_S)


class _Pool:
    """What one event loop has."""

    def __init__(self) -> None:
        self.shared: list[_Shared] = []

    async def lease(self, authority: Authority, timeout_s: float) -> Lease:
        for shared in self.shared:
            if shared.authority == authority and shared.has_room:
                return await shared.join()
        shared = _Shared(self, authority, timeout_s)
        self.shared.append(shared)
        return await shared.join()


_pools: "WeakKeyDictionary[asyncio.AbstractEventLoop, _Pool]" = WeakKeyDictionary()


async def lease(authority: Authority, timeout_s: float) -> Lease:
    """Take a connection for one stream: one that is open and has room, or a new one.

    Args:
        authority: to whom.
        timeout_s: as `connect`.

    Raises:
        CrtError: no connection could be made.
        AuthoritiesError: there is nothing to trust.
    """
    return await _pools.setdefault(asyncio.get_running_loop(), _Pool()).lease(authority, timeout_s)


def connections() -> list[Any]:
    """The connections that the running event loop has."""
    pool = _pools.get(asyncio.get_running_loop())
    return [shared.opening for shared in pool.shared] if pool is not None else []
