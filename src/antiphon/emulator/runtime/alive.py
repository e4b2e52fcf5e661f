"""What is alive, so that it can be ended and waited for."""

import asyncio
from collections.abc import Iterator
from typing import Protocol


class Abortable(Protocol):
    """A connection that can be cut."""

    def abort(self) -> None:
        """Cut it."""


class Alive[T: Abortable]:
    """The connections there are."""

    def __init__(self) -> None:
        self._all: set[T] = set()
        self._none = asyncio.Event()
        self._none.set()

    def __len__(self) -> int:
        return len(self._all)

    def __iter__(self) -> Iterator[T]:
        return iter(tuple(self._all))

    def add(self, connection: T) -> None:
        """One more."""
        self._all.add(connection)
        self._none.clear()

    def discard(self, connection: T) -> None:
        """One less."""
        self._all.discard(connection)
        if not self._all:
            self._none.set()

    async def end(self, timeout_s: float) -> None:
        """Wait until there are none; cut what is left after a while."""
        try:
            async with asyncio.timeout(timeout_s):
                await self._none.wait()
        except TimeoutError:
            for connection in self:
                connection.abort()
            await self._none.wait()
