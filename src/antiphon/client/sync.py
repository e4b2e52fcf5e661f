"""The same client for programs without an event loop: it runs one, in a thread of its own."""

import asyncio
import atexit
import sys
import threading
from collections.abc import Callable, Coroutine, Generator
from concurrent.futures import CancelledError, Future
from contextlib import contextmanager, suppress
from ssl import SSLContext
from types import TracebackType
from typing import Any, Self, Unpack

from antiphon.client import voice as _async
from antiphon.client.errors import VoiceClosedError
from antiphon.client.events import Event
from antiphon.client.options import SpeechOptions
from antiphon.client.sources import TextSource
from antiphon.client.statistics import Statistics
from antiphon.client.targets import CONNECT_TIMEOUT_S
from antiphon.client.utterance import Utterance as _AsyncUtterance
from antiphon.protocol.client_session import KEEPALIVE_S, RESPONSE_TIMEOUT_S
from antiphon.text.auto import AutoOptions

# What connections get to close in, when the program ends with some open.
EXIT_TIMEOUT_S = 5.0


class _LoopThread:
    """An event loop in a daemon thread.

    Generators outlive the programs that drop them: Python closes them when it ends, when daemon threads stand still
    already, or in whatever thread it collects garbage, be it this one. So nothing that closes may wait there.
    """

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._lock = threading.RLock()  # garbage may be collected, and a generator closed, while it is held
        self._closing = self._exiting = False
        self._thread = threading.Thread(target=self._run, name="antiphon-client", daemon=True)
        self._thread.start()
        atexit.register(self._close_at_exit)

    def call[T](self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine there and wait for its result; a `KeyboardInterrupt` here cancels it there."""
        future = self.start(coroutine)
        try:
            return future.result()
        except CancelledError:
            raise _closed() from None
        except BaseException:
            future.cancel()
            raise

    def start[T](self, coroutine: Coroutine[Any, Any, T]) -> Future[T]:
        """Run a coroutine there, meanwhile."""
        with self._lock:
            # What is started before the loop is told to stop is cancelled then, and so nobody waits for ever.
            if not (self._closing or sys.is_finalizing()):
                return asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        coroutine.close()
        raise _closed()

    def settle(self, closing: Coroutine[Any, Any, None]) -> None:
        """`call` what closes something, unless everything is closed; does not wait where it cannot."""
        with suppress(VoiceClosedError):
            if self._is_here:
                self.start(closing)
            else:
                self.call(closing)

    def close(self, timeout_s: float | None = None) -> None:
        """Stop the loop, which cancels what it still does, and wait for the thread where one can; idempotent."""
        with self._lock:
            if not self._closing:
                self._closing = True
                self._loop.call_soon_threadsafe(self._loop.stop)
        if not (self._is_here or sys.is_finalizing()):
            self._thread.join(timeout_s)
            atexit.unregister(self._close_at_exit)

    @property
    def _is_here(self) -> bool:
        return threading.get_ident() == self._thread.ident

    def _close_at_exit(self) -> None:
        self._exiting = True
        self.close(EXIT_TIMEOUT_S)

    def _run(self) -> None:
        runner = asyncio.Runner(loop_factory=lambda: self._loop)
        runner.get_loop().run_forever()
        try:
            runner.close()
        except RuntimeError:
            # Python 3.12 starts no thread any more when it ends, not even the one in which asyncio would wait for the
            # threads of its executor; those have ended by then, and everything else is closed.
            if not self._exiting:
                raise


class Utterance:
    """Something to be said; see `antiphon.client.utterance.Utterance`. Write in one thread, iterate in another."""

    def __init__(self, loop: _LoopThread, utterance: _AsyncUtterance) -> None:
        self._loop = loop
        self._utterance = utterance

    @property
    def statistics(self) -> Statistics:
        """The figures so far."""
        return self._utterance.statistics

    def write(self, text: str) -> None:
        """Add text."""
        self._loop.call(self._utterance.write(text))

    def end(self) -> None:
        """Say that the text is complete."""
        self._loop.call(self._utterance.end())

    @contextmanager
    def fed_from(self, source: TextSource) -> Generator[None, None, None]:
        """Meanwhile, write all tokens of `source` and end; see `antiphon.client.utterance.Utterance.feed`."""
        feeding = self._loop.start(self._utterance.feed(source))
        try:
            yield
        finally:
            feeding.cancel()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Event:
        event = self._loop.call(_next(self._utterance))
        if event is None:
            raise StopIteration
        return event

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Drop what is not spoken yet; idempotent."""
        self._loop.settle(self._utterance.aclose())


class Voice:
    """Speaks utterances; see `antiphon.client.voice.Voice`. Made by `connect`, closed by leaving ``with``."""

    def __init__(self, connecting: Callable[[], Coroutine[Any, Any, _async.Voice]]) -> None:
        self._loop = _LoopThread()
        try:
            self._voice = self._loop.call(connecting())
        except BaseException:
            self._loop.close()
            raise

    def utterance(self, **options: Unpack[SpeechOptions]) -> Utterance:
        """Begin an utterance; use it with ``with``."""
        return Utterance(self._loop, self._loop.call(_begin(self._voice, options)))

    def say(self, source: TextSource, **options: Unpack[SpeechOptions]) -> Generator[Event, None, None]:
        """Speak `source` while it is still being written, and yield the events.

        A plain iterable is read in a thread of its own. Leaving the iteration drops what is not spoken yet.
        """
        with self.utterance(**options) as utterance, utterance.fed_from(source):
            yield from utterance

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection and end the thread; idempotent."""
        try:
            self._loop.settle(self._voice.aclose())
        finally:
            self._loop.close()


def connect(  # noqa: PLR0913 - every one has a default
    target: str,
    *,
    api_key: str | None = None,
    ca_file: str | None = None,
    ssl_context: SSLContext | None = None,
    connect_timeout_s: float = CONNECT_TIMEOUT_S,
    segmentation: AutoOptions | None = None,
    keepalive_s: float = KEEPALIVE_S,
    response_timeout_s: float = RESPONSE_TIMEOUT_S,
    **options: Unpack[SpeechOptions],
) -> Voice:
    """Open a session with a speech server, to be used with ``with``.

    Arguments and errors are those of `antiphon.client.voice.connect`.
    """

    async def connecting() -> _async.Voice:
        return await _async.connect(
            target,
            api_key=api_key,
            ca_file=ca_file,
            ssl_context=ssl_context,
            connect_timeout_s=connect_timeout_s,
            segmentation=segmentation,
            keepalive_s=keepalive_s,
            response_timeout_s=response_timeout_s,
            **options,
        )

    return Voice(connecting)


def _closed() -> VoiceClosedError:
    return VoiceClosedError("the voice was closed")


async def _next(utterance: _AsyncUtterance) -> Event | None:
    return await anext(utterance, None)


async def _begin(voice: _async.Voice, options: SpeechOptions) -> _AsyncUtterance:
    return voice.utterance(**options)
