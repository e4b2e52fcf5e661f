"""A voice: one session with a speech server, for one utterance after another."""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from ssl import SSLContext
from types import TracebackType
from typing import Any, Self, Unpack

from antiphon.client.connection import Connection
from antiphon.client.events import Event
from antiphon.client.options import SpeechOptions, session_config
from antiphon.client.sources import TextSource
from antiphon.client.targets import CONNECT_TIMEOUT_S, ConnectOptions, open_transport
from antiphon.client.transport import Transport
from antiphon.client.utterance import Utterance
from antiphon.protocol.client_session import KEEPALIVE_S, RESPONSE_TIMEOUT_S
from antiphon.text.auto import AutoOptions, AutoSegmenter


class Voice:
    """Speaks utterances over an open transport. Usually made by `connect`.

    Args:
        transport: open; closed with the voice.
        options: how to speak, unless an utterance says otherwise.
        segmentation: where text is cut into units.
        connect_s: what opening the transport took, for the statistics.
        keepalive_s: silence after which the server is told that the session is still wanted.
        response_timeout_s: silence of a server that owes speech after which the voice fails.

    Raises:
        OptionError: an option is unknown or has a value that no server takes.
    """

    def __init__(  # noqa: PLR0913 - every one but the first has a default
        self,
        transport: Transport,
        options: SpeechOptions | None = None,
        *,
        segmentation: AutoOptions | None = None,
        connect_s: float = 0.0,
        keepalive_s: float = KEEPALIVE_S,
        response_timeout_s: float = RESPONSE_TIMEOUT_S,
    ) -> None:
        self._options = options or SpeechOptions()
        self._segmentation = segmentation or AutoOptions()
        self._connect_s = connect_s
        self._connection = Connection(
            transport,
            session_config(self._options),
            keepalive_s=keepalive_s,
            response_timeout_s=response_timeout_s,
        )

    def utterance(self, **options: Unpack[SpeechOptions]) -> Utterance:
        """Begin an utterance: write to it, end it, iterate over its events. Use it with ``async with``.

        It is spoken after those that had something to speak before it had; see `Utterance`.

        Args:
            options: what is different from the voice's own.

        Raises:
            OptionError: as the constructor.
            TooManyUtterancesError: 256 utterances are open.
            SpeechError: the voice is closed or has lost its connection.
        """
        config = session_config({**self._options, **options})
        return Utterance(self._connection, config, AutoSegmenter(self._segmentation), connect_s=self._connect_s)

    async def say(self, source: TextSource, **options: Unpack[SpeechOptions]) -> AsyncGenerator[Event, None]:
        """Speak `source` while it is still being written, and yield the events.

        Leaving the iteration, by ``break`` or otherwise, drops what is not spoken yet.

        Args:
            source: a string, or an iterable or asynchronous iterable of strings.
            options: as `utterance`.

        Raises:
            SpeechError: it cannot be spoken (further).
            Exception: whatever `source` raises.
        """
        async with self.utterance(**options) as utterance:
            feeder = asyncio.create_task(utterance.feed(source), name="antiphon-feeder")
            try:
                async for event in utterance:
                    yield event
            finally:
                feeder.cancel()
                await asyncio.wait({feeder})

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connection; utterances that are not complete fail with `VoiceClosedError`. Idempotent."""
        await self._connection.aclose()


class Connecting:
    """What `connect` returns: await it, or enter it with ``async with``."""

    def __init__(self, open_voice: Callable[[], Coroutine[Any, Any, Voice]]) -> None:
        self._open = open_voice
        self._voice: Voice | None = None

    def __await__(self) -> Generator[object, None, Voice]:
        return self._open().__await__()

    async def __aenter__(self) -> Voice:
        self._voice = await self._open()
        return self._voice

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._voice is not None:
            await self._voice.aclose()


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
) -> Connecting:
    """Open a session with a speech server.

    Both ``voice = await antiphon.connect(target)`` and ``async with antiphon.connect(target) as voice`` do.

    Args:
        target: such as ``ws://127.0.0.1:8080``; see `antiphon.client.targets.parse`.
        api_key: a bearer token; by default that of the environment variable ``ANTIPHON_API_KEY``, which is only sent
            over ``wss`` or to this machine.
        ca_file: authorities to trust for ``wss``, in PEM; by default the system's.
        ssl_context: for ``wss``, instead of `ca_file`.
        connect_timeout_s: until the connection is open.
        segmentation: where text is cut into units.
        keepalive_s: as `Voice`.
        response_timeout_s: as `Voice`.
        options: how to speak.

    Returns:
        A `Voice`, once awaited or entered.

    Raises:
        TargetError: `target` is not one.
        OptionError: an option is unknown or has a value that no server takes.
        ConnectError: nobody there, not allowed, or not in time.
    """

    async def open_voice() -> Voice:
        session_config(options)  # refuses what cannot be before anything is opened
        started_at = time.monotonic()
        transport = await open_transport(target, ConnectOptions(api_key, ca_file, ssl_context, connect_timeout_s))
        return Voice(
            transport,
            options,
            segmentation=segmentation,
            connect_s=time.monotonic() - started_at,
            keepalive_s=keepalive_s,
            response_timeout_s=response_timeout_s,
        )

    return Connecting(open_voice)
