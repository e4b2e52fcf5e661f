import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing

import pytest

from antiphon.client.sources import tokens

pytestmark = pytest.mark.anyio


async def test_a_blocking_iterator_does_not_block_the_event_loop() -> None:
    may_go_on = threading.Event()

    def blocking() -> Iterator[str]:
        yield "a"
        may_go_on.wait(10)
        yield "b"

    async with aclosing(tokens(blocking())) as taken:
        assert await anext(taken) == "a"
        waiting = asyncio.ensure_future(anext(taken))
        await asyncio.sleep(0.01)  # the loop runs
        assert not waiting.done()
        may_go_on.set()
        assert await waiting == "b"
        assert [token async for token in taken] == []


async def test_what_a_plain_iterator_raises_comes_after_its_last_token() -> None:
    def failing() -> Iterator[str]:
        yield "a"
        raise LookupError("no more")

    taken = []
    with pytest.raises(LookupError, match="no more"):  # noqa: PT012 - the tokens before count too
        async for token in tokens(failing()):
            taken.append(token)  # noqa: PERF401 - as above
    assert taken == ["a"]


async def test_an_iterator_that_wants_to_end_the_process_ends_only_itself() -> None:
    def exiting() -> Iterator[str]:
        yield from ()
        raise SystemExit

    with pytest.raises(RuntimeError, match="SystemExit"):
        await anext(tokens(exiting()))


async def test_a_thread_reads_only_so_far_ahead() -> None:
    taken = 0

    def endless() -> Iterator[str]:
        nonlocal taken
        while True:
            taken += 1
            yield "word "

    async with aclosing(tokens(endless())) as words:
        await anext(words)
        before = -1
        while before != taken:
            before = taken
            await asyncio.sleep(0.02)
        assert taken <= 2 * 64 + 2


async def test_a_plain_generator_that_is_left_early_is_closed_and_its_thread_ends() -> None:
    closed = threading.Event()

    def endless() -> Iterator[str]:
        try:
            while True:
                yield "word "
        finally:
            closed.set()

    async with aclosing(tokens(endless())) as words:
        await anext(words)

    assert await asyncio.to_thread(closed.wait, 5)
    for thread in threading.enumerate():
        if thread.name == "antiphon-text":
            await asyncio.to_thread(thread.join, 5)
            assert not thread.is_alive()


async def test_an_asynchronous_generator_that_is_left_early_is_closed() -> None:
    closed = asyncio.Event()

    async def endless() -> AsyncIterator[str]:
        try:
            while True:
                yield "word "
        finally:
            closed.set()

    async with aclosing(tokens(endless())) as words:
        await anext(words)

    assert closed.is_set()


async def test_a_source_that_never_waits_still_lets_others_run() -> None:
    others = 0

    async def other() -> None:
        nonlocal others
        while True:
            others += 1
            await asyncio.sleep(0)

    async def hasty() -> AsyncIterator[str]:
        for _ in range(100):
            yield "word "

    task = asyncio.create_task(other())
    async for _ in tokens(hasty()):
        pass
    after_async = others
    async for _ in tokens(["word "] * 100):
        pass
    task.cancel()

    assert after_async >= 100
    assert others >= 200
