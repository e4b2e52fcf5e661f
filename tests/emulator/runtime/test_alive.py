"""What is alive, so that it can be ended and waited for."""

import asyncio

import pytest

from antiphon.emulator.runtime.alive import Alive

pytestmark = pytest.mark.anyio


class Connection:
    def __init__(self, alive: "Alive[Connection]") -> None:
        self._alive = alive
        self.aborted = False
        alive.add(self)

    def abort(self) -> None:
        self.aborted = True
        self.close()

    def close(self) -> None:
        asyncio.get_running_loop().call_soon(self._alive.discard, self)


async def test_what_ends_by_itself_is_waited_for() -> None:
    alive: Alive[Connection] = Alive()
    connection = Connection(alive)
    connection.close()
    await alive.end(5)
    assert (len(alive), connection.aborted) == (0, False)


async def test_what_does_not_is_cut() -> None:
    alive: Alive[Connection] = Alive()
    connection = Connection(alive)
    await alive.end(0.01)
    assert (len(alive), connection.aborted) == (0, True)


async def test_none_need_not_be_waited_for() -> None:
    async with asyncio.timeout(1):
        await Alive[Connection]().end(60)
