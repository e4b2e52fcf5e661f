"""The client's side of ``/v1/audio/speech/stream``, without input or output.

It speaks to every stock server alike (vLLM-Omni 0.26 to 0.30): the text comes in units that the caller has
cut, each travels as one ``input.text`` and one ``input.done``, and at most one waits at the server behind the
one being spoken. A stock server reads nothing while it speaks, cannot be cancelled and acknowledges no config,
so whatever was sent will be spoken; sending late is what keeps an abandoned utterance cheap.
"""

from collections import deque
from collections.abc import Callable
from typing import Any

from antiphon.protocol.client_events import (
    ClientEvent,
    SessionFailed,
    SpeechAudio,
    SpeechDone,
    SpeechSkipped,
    SpeechStarted,
    UtteranceDone,
    UtteranceFailed,
)
from antiphon.protocol.client_ledger import Configured, Flush, Ledger, Utterance
from antiphon.protocol.client_text import encodable
from antiphon.protocol.messages import (
    AudioDone,
    AudioStart,
    ErrorMessage,
    InputDone,
    InputText,
    MalformedMessageError,
    SessionConfig,
    SessionDone,
    parse_server_message,
)

UNITS_AT_SERVER = 2
"""The one being spoken and one ahead, which hides the round trip between two units."""

KEEPALIVE_S = 15.0
"""Half of the 30 s after which a stock server hangs up on a silent client."""

RESPONSE_TIMEOUT_S = 120.0
"""How long a server that owes speech may say nothing; a cold GPU compiles for more than a minute."""

_GENERATION_ERROR = "Generation failed"
_NO_WORDS = "the server reports a failure and does not say of what"

# Of `AudioStart`: what was asked for, or nothing; and more than any device plays.
_FORMATS = frozenset({"", "pcm"})
_SAMPLE_RATES = range(1, 768_001)


class ClientSession:
    """What to send for a series of utterances, and what the answers mean.

    Every method takes the time as `now` (seconds, any fixed zero point) and returns what became of the
    utterances; afterwards `messages_to_send` may have grown and `next_deadline` may have moved.

    Args:
        config: sent at once, because a stock server waits only 10 s for it.
        now: the current time.
        keepalive_s: silence after which an empty ``input.text`` is sent.
        response_timeout_s: silence of a server that owes speech after which the session fails.
    """

    def __init__(
        self,
        config: SessionConfig,
        *,
        now: float,
        keepalive_s: float = KEEPALIVE_S,
        response_timeout_s: float = RESPONSE_TIMEOUT_S,
    ) -> None:
        self._keepalive_s = keepalive_s
        self._response_timeout_s = response_timeout_s
        self._outgoing: list[str] = []
        # Utterances that have had a unit, with others still to be given or sent, in the order they are spoken.
        self._queue: deque[Utterance] = deque()
        self._utterances: dict[int, Utterance] = {}
        self._begun = 0
        self._ledger = Ledger()
        self._speaking: Flush | None = None
        self._config: SessionConfig | None = None
        self._accepted = False
        # An empty input.text since the last input.done: servers up to 0.28 count it as text that waits.
        self._keepalive_open = False
        self._held = False
        self._sent_at = self._heard_at = self._free_at = now
        self._configure(config, now)
        self.waiting_characters = 0
        """Text that was given and not yet sent, over all utterances."""
        self.last_error: str | None = None
        """The last error that concerned no utterance; when the connection breaks, this is the likely reason."""

    # Utterances.

    def begin(self, config: SessionConfig) -> int:
        """Open an utterance and return its number. It takes its place in line with its first unit."""
        utterance = Utterance(self._begun, config)
        self._begun += 1
        self._utterances[utterance.id] = utterance
        return utterance.id

    def speak(self, utterance: int, text: str, now: float) -> int:
        """Add a unit to an utterance and return the unit's number, which counts from 0."""
        target = self._utterances[utterance]
        unit = target.units
        if not unit:
            self._queue.append(target)
        target.units += 1
        target.waiting.append((unit, text))
        self.waiting_characters += len(text)
        self._pump(now)
        return unit

    def finish(self, utterance: int, now: float) -> list[ClientEvent]:
        """Say that no more units of this utterance will come."""
        target = self._utterances[utterance]
        target.finished = True
        self._pump(now)
        return self._complete(target)

    def abandon(self, utterance: int, now: float) -> None:
        """Send no more of an utterance and report nothing more of it; harmless when it is over."""
        target = self._utterances.get(utterance)
        if target is not None:
            self._drop(target)
            self._pump(now)

    def hold(self, now: float, *, held: bool) -> None:
        """Send no further units (True) until told otherwise (False): the listener is far behind."""
        self._held = held
        self._pump(now)

    # The connection.

    def messages_to_send(self) -> list[str]:
        """Take the text frames to send now."""
        messages, self._outgoing = self._outgoing, []
        return messages

    @property
    def wants_to_send(self) -> bool:
        """Whether `messages_to_send` has any."""
        return bool(self._outgoing)

    def receive(self, message: str | bytes, now: float) -> list[ClientEvent]:
        """Handle a frame from the server; unknown messages are ignored."""
        self._heard_at = now
        if isinstance(message, bytes):
            return self._on_audio(message, now)
        try:
            parsed = parse_server_message(message)
        except MalformedMessageError as error:
            return [_fault(str(error))]
        handler = _HANDLERS.get(type(parsed))
        events = handler(self, parsed, now) if handler else []
        self._pump(now)
        return events

    @property
    def next_deadline(self) -> float:
        """When `tick` is to be called."""
        keepalive = self._sent_at + self._keepalive_s
        return min(keepalive, self._heard_at + self._response_timeout_s) if self._ledger.owed else keepalive

    def tick(self, now: float, *, listening: bool = True) -> list[ClientEvent]:
        """Let time pass; too early does no harm. Not `listening` excuses the server's silence."""
        if not listening:
            self._heard_at = now
        if now >= self._sent_at + self._keepalive_s:
            self._keep_alive(now)
        if self._ledger.owed and now >= self._heard_at + self._response_timeout_s:
            return [_fault(f"the server owes speech and has been silent for {self._response_timeout_s:g} s")]
        return []

    # Sending.

    def _pump(self, now: float) -> None:
        while (utterance := self._next_to_send()) is not None:
            self._configure(utterance.config, now)
            unit, text = utterance.waiting.popleft()
            utterance.at_server += 1
            self.waiting_characters -= len(text)
            self._send(InputText(text=encodable(text)).to_json(), now)
            self._flush(utterance, unit, now)

    def _next_to_send(self) -> Utterance | None:
        while self._queue and self._queue[0].finished and not self._queue[0].waiting:
            self._queue.popleft()
        at_server = sum(flush.utterance is not None for flush in self._ledger.flushes)
        if self._held or at_server >= UNITS_AT_SERVER or not self._queue or not self._queue[0].waiting:
            return None
        return self._queue[0]

    def _configure(self, config: SessionConfig, now: float) -> None:
        if config == self._config:
            return
        if self._keepalive_open:
            self._flush(None, 0, now)
        self._config = config
        self._ledger.add_config(config)
        self._send(config.to_json(), now)

    def _flush(self, utterance: Utterance | None, unit: int, now: float) -> None:
        if not self._ledger.owed:
            self._heard_at = now
        self._ledger.add_flush(utterance, unit, now)
        self._keepalive_open = False
        self._send(InputDone().to_json(), now)

    def _keep_alive(self, now: float) -> None:
        self._sent_at = now
        # A socket that takes nothing needs no second keepalive behind the first.
        if not self._outgoing:
            self._keepalive_open = True
            self._send(InputText().to_json(), now)

    def _send(self, message: str, now: float) -> None:
        self._outgoing.append(message)
        self._sent_at = now

    # Receiving.

    def _on_start(self, message: AudioStart, now: float) -> list[ClientEvent]:
        flush = self._ledger.find(message)
        if flush is None:
            return [_fault("the server speaks what it was not asked to")]
        self._speaking = flush
        events = self._settle_before(flush, now)
        utterance = flush.utterance
        if utterance is None or utterance.dropped:
            return events
        if message.format not in _FORMATS:
            return [*events, _fault("the server sends audio in another format than PCM, which was asked for")]
        sample_rate = message.sample_rate or 0
        if sample_rate not in _SAMPLE_RATES:
            return [*events, *self._fail(flush, "the server does not say the sample rate of its audio")]
        # A server that splits a unit after all starts it once for each part; for the caller it is one.
        if flush.sample_rate is None:
            events.append(SpeechStarted(utterance.id, flush.unit, sample_rate))
        flush.sample_rate = sample_rate
        return events

    def _on_audio(self, data: bytes, now: float) -> list[ClientEvent]:
        flush = self._speaking
        if flush is None:
            return [_fault("the server sends audio and does not say of what")] if data else []
        if flush.sample_rate is None or flush.utterance is None or flush.utterance.dropped:
            return []
        data = flush.odd_byte + data
        whole = len(data) & ~1
        flush.odd_byte = data[whole:]
        if not whole:
            return []
        flush.audio_at = now
        return [SpeechAudio(flush.utterance.id, flush.unit, data[:whole], flush.sample_rate)]

    def _on_audio_done(self, message: AudioDone, _now: float) -> list[ClientEvent]:
        # An error message that says why comes before it; should it come after, or not at all, `_end` is in time.
        flush = self._ledger.find(message)
        if flush is not None and message.error:
            flush.failed = True
        return []

    def _on_done(self, message: SessionDone, now: float) -> list[ClientEvent]:
        flush = self._ledger.find(message)
        if flush is None:
            return []
        events = self._settle_before(flush, now)
        self._ledger.pop()
        return events + self._end(flush, now)

    def _on_error(self, message: ErrorMessage, _now: float) -> list[ClientEvent]:
        words = message.message.strip() or _NO_WORDS
        refusal = self._ledger.oldest
        if isinstance(refusal, Configured) and not words.startswith(_GENERATION_ERROR):
            return self._on_refusal(refusal, words)
        flush = self._speaking or next(self._ledger.flushes, None)
        if flush is None:
            self.last_error = words
            return []
        return self._fail(flush, words)

    def _fail(self, flush: Flush, message: str) -> list[ClientEvent]:
        utterance = flush.utterance
        if utterance is None or utterance.dropped:
            return []
        self._drop(utterance)
        return [UtteranceFailed(utterance.id, flush.unit, message, partial_audio=flush.audio_at is not None)]

    def _on_refusal(self, refusal: Configured, message: str) -> list[ClientEvent]:
        """A config was refused: the server goes on with the one before, which is not what was asked for."""
        if not self._accepted:
            return [SessionFailed(message, refused=True)]
        self._ledger.pop()
        if self._config is refusal.config:
            self._config = None
        failed = self._ledger.utterances_before_next_config()
        for utterance in failed:
            self._drop(utterance)
        return [UtteranceFailed(utterance.id, None, message) for utterance in failed]

    # Bookkeeping.

    def _settle_before(self, flush: Flush, now: float) -> list[ClientEvent]:
        self._accepted = True
        return [event for settled in self._ledger.settle_before(flush) for event in self._end(settled, now)]

    def _end(self, flush: Flush, now: float) -> list[ClientEvent]:
        if self._speaking is flush:
            self._speaking = None
        free_at, self._free_at = self._free_at, now
        utterance = flush.utterance
        if utterance is None or utterance.dropped:
            return []
        if flush.failed:
            return self._fail(flush, _NO_WORDS)
        if flush.odd_byte:
            return [_fault("the server's audio ends within a sample")]
        utterance.at_server -= 1
        skipped = flush.sample_rate is None
        done = SpeechDone(utterance.id, flush.unit, flush.busy_s(free_at, now))
        return [SpeechSkipped(utterance.id, flush.unit) if skipped else done, *self._complete(utterance)]

    def _complete(self, utterance: Utterance) -> list[ClientEvent]:
        if not utterance.complete or self._utterances.pop(utterance.id, None) is None:
            return []
        return [UtteranceDone(utterance.id)]

    def _drop(self, utterance: Utterance) -> None:
        utterance.dropped = utterance.finished = True
        self.waiting_characters -= sum(len(text) for _, text in utterance.waiting)
        utterance.waiting.clear()
        self._utterances.pop(utterance.id, None)


def _fault(message: str) -> SessionFailed:
    return SessionFailed(message, refused=False)


_HANDLERS: dict[type, Callable[[ClientSession, Any, float], list[ClientEvent]]] = {
    AudioStart: ClientSession._on_start,  # noqa: SLF001 - a dispatch table of the class's own methods
    AudioDone: ClientSession._on_audio_done,  # noqa: SLF001
    SessionDone: ClientSession._on_done,  # noqa: SLF001
    ErrorMessage: ClientSession._on_error,  # noqa: SLF001
}
