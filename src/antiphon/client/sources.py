"""Text from wherever it comes, as an asynchronous iterator of tokens."""

import asyncio
import threading
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, suppress
from typing import Any

type TextSource = str | Iterable[str] | AsyncIterable[str]

# Tokens that a thread may be ahead of the reader.
_AHEAD = 64


async def tokens(source: TextSource) -> AsyncGenerator[str, None]:
    """Yield the tokens of `source`, whatever it is, and let other tasks run after each.

    A plain iterator may block (it may be an HTTP client that waits for an LLM), so it is read in a thread of
    its own; lists and tuples are read where they are. A generator that is left early is closed.

    Raises:
        TypeError: `source` is no source of text.
    """
    if isinstance(source, str):
        yield source
    elif isinstance(source, AsyncIterable):
        async with _closing(source):
            async for token in source:
                yield token
                await asyncio.sleep(0)
    elif isinstance(source, (list, tuple)):
        for token in source:
            yield token
            await asyncio.sleep(0)
    elif isinstance(source, Iterable):
        reader = _ThreadedReader(source)
        try:
            while (batch := await reader.next_batch()) is not None:
                for token in batch:
                    yield token
                    await asyncio.sleep(0)
        finally:
            reader.stop()
    else:
        raise TypeError(f"text comes as str, iterable or async iterable of str, not {type(source).__name__}")


@asynccontextmanager
async def _closing(source: AsyncIterable[str]) -> AsyncGenerator[None, None]:
    try:
        yield
    finally:
        if isinstance(source, AsyncGenerator):
            await source.aclose()


class _ThreadedReader:
    """Reads a blocking iterable in a daemon thread: one that never answers must not keep the process alive."""

    def __init__(self, source: Iterable[str]) -> None:
        self._source = source
        self._loop = asyncio.get_running_loop()
        self._arrived = asyncio.Event()
        self._tokens: list[str] = []
        self._ended = False
        self._error: Exception | None = None
        self._room = threading.Semaphore(_AHEAD)
        self._stopped = False
        threading.Thread(target=self._run, name="antiphon-text", daemon=True).start()

    async def next_batch(self) -> list[str] | None:
        """Wait for tokens; None at the end. Raises what the iterable raised, after its last token."""
        while not self._tokens:
            if self._error is not None:
                raise self._error
            if self._ended:
                return None
            self._arrived.clear()
            await self._arrived.wait()
        batch, self._tokens = self._tokens, []
        self._room.release(len(batch))
        return batch

    def stop(self) -> None:
        """Take no more; the thread ends, and closes the iterator, when the iterator next returns."""
        self._stopped = True
        self._room.release()

    def _run(self) -> None:
        error: Exception | None = None
        try:
            self._iterate(iter(self._source))
        except Exception as raised:  # noqa: BLE001 - it is raised again where the tokens are read
            error = raised
        except BaseException as raised:  # noqa: BLE001 - likewise, but must not end the event loop there
            error = RuntimeError(f"the text iterator ended with {type(raised).__name__}")
        self._post(self._end, error)

    def _iterate(self, iterator: Iterator[str]) -> None:
        for token in iterator:
            self._room.acquire()
            if self._stopped:
                break
            self._post(self._deliver, token)
        close = getattr(iterator, "close", None)
        if close is not None:
            close()

    def _post(self, callback: Callable[[Any], None], argument: object) -> None:
        with suppress(RuntimeError):  # the event loop is closed: nobody reads any more
            self._loop.call_soon_threadsafe(callback, argument)

    def _deliver(self, token: str) -> None:
        self._tokens.append(token)
        self._arrived.set()

    def _end(self, error: Exception | None) -> None:
        self._ended = True
        self._error = error
        self._arrived.set()
