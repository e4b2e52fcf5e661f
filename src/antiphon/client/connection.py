"""One connection and the utterances on it: the client machine, driven by a socket and a clock.

One task reads, one sends, one timer ticks. What arrives is delivered to the utterances at once; when they are
not listened to, first no more text is sent, so that a server soon has nothing to say and the socket stays read
(and its pings answered), and only at the hard bound the socket is left alone.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from antiphon.client.errors import (
    ConnectionLostError,
    ServerFaultError,
    SessionRefusedError,
    SpeechError,
    TooManyUtterancesError,
    VoiceClosedError,
)
from antiphon.client.link import Sink
from antiphon.client.transport import ConnectionClosedError, Transport
from antiphon.protocol.client_events import ClientEvent, SessionFailed, UtteranceDone, UtteranceFailed
from antiphon.protocol.client_session import KEEPALIVE_S, RESPONSE_TIMEOUT_S, ClientSession
from antiphon.protocol.messages import SessionConfig

MAX_UTTERANCES = 256
"""Open at once on one connection: spoken, waiting, or being written."""

MAX_WAITING_CHARACTERS = 2**20
"""Text that may wait to be sent."""

HOLD_BYTES = 2**20
"""Audio that nobody has taken, beyond which no further unit is sent; half a minute at 16 kHz."""

MAX_UNHEARD_BYTES = 16 * 2**20
"""Audio that nobody has taken, beyond which the socket is not read."""


class Connection:
    """Runs a `ClientSession` over a transport, from construction until `aclose`; the `Link` of its utterances.

    Args:
        transport: open, and from now on owned by this.
        config: the first config.
        keepalive_s: as `ClientSession`.
        response_timeout_s: as `ClientSession`.
    """

    def __init__(
        self,
        transport: Transport,
        config: SessionConfig,
        *,
        keepalive_s: float = KEEPALIVE_S,
        response_timeout_s: float = RESPONSE_TIMEOUT_S,
    ) -> None:
        self._transport = transport
        self._loop = asyncio.get_running_loop()
        self.failure: SpeechError | None = None
        """Why nothing more will be spoken, once that is so."""
        self._session = ClientSession(
            config, now=self.now(), keepalive_s=keepalive_s, response_timeout_s=response_timeout_s
        )
        self._sinks: dict[int, Sink] = {}
        self._unheard = 0
        self._held = False
        self._to_send = asyncio.Event()
        self._to_send.set()
        self._heard = asyncio.Event()
        self._sent = asyncio.Event()
        self._stopped = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None
        self._runner = self._loop.create_task(self._run(), name="antiphon-connection")
        self._arm()

    def now(self) -> float:
        """The time in seconds, from the event loop's zero point."""
        return self._loop.time()

    # For utterances; see `Link`.

    def begin(self, config: SessionConfig, sink: Sink) -> int:
        """Open an utterance."""
        if self.failure is not None:
            raise self.failure
        if len(self._sinks) >= MAX_UTTERANCES:
            message = f"{MAX_UTTERANCES} utterances are open on this voice; close them when they are done"
            raise TooManyUtterancesError(message)
        utterance = self._session.begin(config)
        self._sinks[utterance] = sink
        return utterance

    def speak(self, utterance: int, text: str) -> int:
        """Add a unit."""
        unit = self._session.speak(utterance, text, self.now())
        self._follow_up()
        return unit

    def finish(self, utterance: int) -> None:
        """No more units will come."""
        self._dispatch(self._session.finish(utterance, self.now()))

    def abandon(self, utterance: int) -> None:
        """Deliver nothing more, send nothing more."""
        if self._sinks.pop(utterance, None) is not None and self.failure is None:
            self._session.abandon(utterance, self.now())
            self._follow_up()

    def rearm(self) -> None:
        """A sink's deadline has moved."""
        self._arm()

    def unheard(self, size: int) -> None:
        """So many bytes wait for a listener (or, negative, were taken)."""
        self._unheard += size
        held = self._unheard > (HOLD_BYTES // 2 if self._held else HOLD_BYTES)
        if held != self._held:
            self._held = held
            self._session.hold(self.now(), held=held)
            self._follow_up()
        if self._listening:
            self._heard.set()

    @property
    def has_room(self) -> bool:
        """Whether text may be written."""
        return self.failure is not None or self._session.waiting_characters < MAX_WAITING_CHARACTERS

    async def wait_for_room(self) -> None:
        """Wait until text may be written, or never will be again."""
        while not self.has_room:
            self._sent.clear()
            await self._sent.wait()

    async def aclose(self) -> None:
        """Close the connection; utterances that are not complete fail with `VoiceClosedError`."""
        self._stop(VoiceClosedError("the voice was closed"))
        await asyncio.wait({self._runner})

    # The tasks.

    async def _run(self) -> None:
        reader = self._loop.create_task(self._guard(self._read), name="antiphon-reader")
        writer = self._loop.create_task(self._guard(self._write), name="antiphon-writer")
        try:
            await self._stopped.wait()
        finally:
            self._stop(VoiceClosedError("the event loop is closing"))
            with suppress(Exception):  # it is over either way
                await self._transport.close()
            await asyncio.wait({reader, writer})

    async def _guard(self, work: Callable[[], Awaitable[None]]) -> None:
        try:
            await work()
        except Exception as error:  # noqa: BLE001 - whatever it is, those who listen must hear of it
            self._break(error)

    async def _read(self) -> None:
        try:
            while self.failure is None:
                message = await self._transport.receive()
                self._dispatch(self._session.receive(message, self.now()))
                await self._wait_for_listener()
        except ConnectionClosedError as closed:
            self._stop(ConnectionLostError(closed.code, closed.reason, self._session.last_error))

    async def _write(self) -> None:
        while self.failure is None:
            await self._to_send.wait()
            self._to_send.clear()
            # When it is closed, the reader learns why, and may have audio to deliver before that.
            with suppress(ConnectionClosedError):
                for message in self._session.messages_to_send():
                    await self._transport.send(message)

    def _break(self, error: Exception) -> None:
        fault = ServerFaultError(f"the connection broke: {str(error) or type(error).__name__}", retryable=True)
        fault.__cause__ = error
        self._stop(fault)

    @property
    def _listening(self) -> bool:
        return self._unheard <= MAX_UNHEARD_BYTES

    async def _wait_for_listener(self) -> None:
        while not self._listening and self.failure is None:
            self._heard.clear()
            await self._heard.wait()

    # Events and time.

    def _dispatch(self, events: list[ClientEvent]) -> None:
        for event in events:
            if isinstance(event, SessionFailed):
                self._stop((SessionRefusedError if event.refused else ServerFaultError)(event.message))
                return
            sink = self._sinks.get(event.utterance)
            if isinstance(event, UtteranceDone | UtteranceFailed):
                self._sinks.pop(event.utterance, None)
            if sink is not None:
                sink.deliver(event, self.now())
        self._follow_up()

    def _follow_up(self) -> None:
        if self._session.wants_to_send:
            self._to_send.set()
        if self.has_room:
            self._sent.set()
        self._arm()

    def _arm(self) -> None:
        """Set the timer; one that is set for earlier will do, it looks again when it fires."""
        if self.failure is not None:
            return
        deadlines = [sink.next_deadline for sink in self._sinks.values()]
        earliest = min([self._session.next_deadline, *(at for at in deadlines if at is not None)])
        if self._timer is None or earliest < self._timer.when():
            if self._timer is not None:
                self._timer.cancel()
            self._timer = self._loop.call_at(earliest, self._tick)

    def _tick(self) -> None:
        self._timer = None
        now = self.now()
        try:
            for sink in list(self._sinks.values()):
                sink.poll(now)
            self._dispatch(self._session.tick(now, listening=self._listening))
        except Exception as error:  # noqa: BLE001 - as in `_guard`
            self._break(error)

    def _stop(self, error: SpeechError) -> None:
        """Nothing more will be spoken: tell everyone who waits, and close the transport."""
        if self.failure is not None:
            return
        self.failure = error
        if self._timer is not None:
            self._timer.cancel()
        for sink in self._sinks.values():
            sink.fail(error)
        self._sinks.clear()
        for waiting in (self._stopped, self._to_send, self._heard, self._sent):
            waiting.set()
