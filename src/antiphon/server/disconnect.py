"""Work for a client that may go away before it is done."""

import asyncio
from collections.abc import Coroutine
from typing import Any

from starlette.requests import ClientDisconnect
from starlette.types import Receive


async def unless_disconnected[T](receive: Receive, work: Coroutine[Any, Any, T]) -> T:
    """Do some work for an HTTP client whose request has been read; when it goes away, the work is cancelled.

    Raises:
        ClientDisconnect: it went away.
    """
    working = asyncio.create_task(work)
    watching = asyncio.create_task(_gone(receive))
    try:
        await asyncio.wait({working, watching}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ClientDisconnect
        return working.result()
    finally:
        for task in (working, watching):
            task.cancel()
        await asyncio.gather(working, watching, return_exceptions=True)


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
