"""Short sessions, some of which end as they should not, for whoever looks for what a server does not give back."""

import asyncio
import itertools
from collections.abc import Awaitable, Callable

from benchmarks._listener import Listener, listen_to

TEXT = "A short sentence. Another one, with a comma. "
_AT_ONCE = 16
_TIMEOUT_S = 20.0

type Visit = Callable[[Listener], Awaitable[None]]


async def _stay(listener: Listener) -> None:
    """Listen to the end and take leave."""
    await _ask(listener)
    await listener.done
    listener.close()


async def _ask(listener: Listener) -> None:
    listener.send(type="session.config", response_format="pcm", stream_audio=True, split_granularity="sentence")
    listener.send(type="input.text", text=TEXT)
    listener.send(type="input.done")


async def _vanish_amid_audio(listener: Listener) -> None:
    await _ask(listener)
    await listener.first_audio
    listener.reset()


async def _close_amid_audio(listener: Listener) -> None:
    await _ask(listener)
    await listener.first_audio
    listener.close()


async def _close_before_config(listener: Listener) -> None:
    listener.close()


async def _vanish_before_config(listener: Listener) -> None:
    listener.reset()


async def _vanish_amid_text(listener: Listener) -> None:
    listener.send(type="session.config", split_granularity="sentence")
    listener.send(type="input.text", text=TEXT + "A sentence that does not")
    listener.reset()


# Three of ten are cut off.
_ABORTS: tuple[Visit, ...] = (
    _vanish_amid_audio,
    _close_amid_audio,
    _vanish_before_config,
    _close_before_config,
    _vanish_amid_text,
)
ABORTED_SHARE = 0.3


def _visits(count: int) -> list[Visit]:
    aborts = itertools.cycle(_ABORTS)
    return [next(aborts) if at % 10 in (2, 5, 8) else _stay for at in range(count)]


async def visit(address: tuple[str, int], count: int) -> None:
    """Open, use and leave `count` sessions, some at once, 30 % of them aborted in five ways in turn."""
    waiting = iter(_visits(count))

    async def visitor() -> None:
        for stay in waiting:
            async with asyncio.timeout(_TIMEOUT_S):
                await stay(await listen_to(address))

    async with asyncio.TaskGroup() as visitors:
        for _ in range(_AT_ONCE):
            visitors.create_task(visitor())
