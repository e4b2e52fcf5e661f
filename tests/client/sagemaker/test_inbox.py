"""What threads tell an event loop: everything, in order, in few words."""

import asyncio
import threading
from collections.abc import Callable

import pytest

from antiphon.client.sagemaker.inbox import Inbox

pytestmark = pytest.mark.anyio


class CountingLoop:
    """Counts how often it is woken."""

    def __init__(self) -> None:
        self.woken = 0

    def call_soon_threadsafe(self, callback: Callable[..., object], *arguments: object) -> None:
        self.woken += 1
        asyncio.get_running_loop().call_soon(callback, *arguments)


async def test_everything_arrives_in_order_from_a_thread() -> None:
    inbox, heard, done = Inbox(asyncio.get_running_loop()), list[int](), asyncio.Event()

    def tell() -> None:
        for number in range(10_000):
            inbox.post(heard.append, number)
        inbox.post(done.set)

    thread = threading.Thread(target=tell)
    thread.start()
    await asyncio.wait_for(done.wait(), 30)
    thread.join()
    assert heard == list(range(10_000))


async def test_one_wake_is_enough_for_many() -> None:
    loop, heard = CountingLoop(), list[int]()
    inbox = Inbox(loop)  # type: ignore[arg-type]  # of a loop, only what is used
    for number in range(100):
        inbox.post(heard.append, number)
    await asyncio.sleep(0)
    assert (loop.woken, len(heard)) == (1, 100)
    inbox.post(heard.append, 100)
    assert loop.woken == 2


async def test_a_call_that_fails_holds_up_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    loop = asyncio.get_running_loop()
    inbox, heard, reported = Inbox(loop), list[int](), list[BaseException]()
    monkeypatch.setattr(loop, "call_exception_handler", lambda context: reported.append(context["exception"]))

    def fail() -> None:
        raise ValueError

    inbox.post(fail)
    inbox.post(heard.append, 1)
    for _ in range(4):
        await asyncio.sleep(0)
    assert heard == [1]
    assert [type(error) for error in reported] == [ValueError]


def test_a_loop_that_is_closed_wants_nothing() -> None:
    loop = asyncio.new_event_loop()
    loop.close()
    Inbox(loop).post(print)
