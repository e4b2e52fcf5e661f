"""The server's side of one ``antiphon/1`` connection, without any input or output of its own.

`DuplexSession` is told what happened and answers with what to do (`events`). Messages take effect when they arrive:
whatever is being spoken, the next one is read. What they cause to be said waits in a line (`line`), one context at a
time; `transitions` says what each message does. The protocol's text is ``docs/protocol.md``.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, ClassVar

from antiphon.protocol.closing import CloseCause
from antiphon.protocol.decode import encodable
from antiphon.protocol.duplex.decode import decode
from antiphon.protocol.duplex.errors import ErrorCode
from antiphon.protocol.duplex.events import (
    Abort,
    AudioChunk,
    CloseConnection,
    CutOff,
    Disconnected,
    Effect,
    Event,
    Flushed,
    OutputSent,
    Received,
    SegmenterDeadline,
    Send,
    SendAudio,
    Shutdown,
    TimePassed,
    UnitCompleted,
    UnitFailed,
    UnitReady,
    UnitRefused,
)
from antiphon.protocol.duplex.messages import (
    ContextMessage,
    DuplexConfig,
    ErrorMessage,
    Ping,
    Pong,
    SessionClose,
    SessionReady,
)
from antiphon.protocol.duplex.speech import Speech
from antiphon.protocol.duplex.transitions import SESSION_ACTIONS, Action, ContextState, MessageKind, SessionState
from antiphon.protocol.limits import Limits

_CLOSE_WHEN_EMPTY: Mapping[SessionState, CloseCause] = MappingProxyType(
    {SessionState.CLOSING: CloseCause.REQUESTED, SessionState.DRAINING: CloseCause.SHUTDOWN}
)


class DuplexSession:
    """One connection that speaks ``antiphon/1``.

    The driver delivers events one at a time and carries out the effects in order. It answers `Feed`, `Flush` and
    `Poll` at once, before any other event, with `UnitReady`s (and `Flushed`, and `SegmenterDeadline`), and tells with
    `OutputSent` when the socket has taken what was to be sent. The first frame is delivered like any other one.

    Args:
        limits: how much may wait and for how long; those that `SessionLimits` has too replace the ones in `ready`.
        ready: what answers a config.
        check_model: given a model's name, returns None or the error text for an unknown one.
        now: seconds of a monotonic clock, as in `receive`.
    """

    def __init__(
        self, *, limits: Limits, ready: SessionReady, check_model: Callable[[str], str | None], now: float
    ) -> None:
        shared = {"idle_timeout_s": limits.idle_timeout_s, "max_text_message_chars": limits.max_text_message_chars}
        self._limits = limits
        self._ready = ready.model_copy(update={"limits": ready.limits.model_copy(update=shared)})
        self._check_model = check_model
        self._state = SessionState.AWAITING_CONFIG
        self._speech = Speech(self._ready.limits, ready.sample_rate)
        self._quiet_since = now
        self._sending = False

    @property
    def state(self) -> SessionState:
        """Where the session is."""
        return self._state

    @property
    def closed(self) -> bool:
        """Whether the session is over; every event is ignored then."""
        return self._state is SessionState.CLOSED

    @property
    def waiting(self) -> bool:
        """Whether the session waits for nothing but the client."""
        return not (self._speech.playing or self._sending)

    @property
    def next_deadline(self) -> float | None:
        """When `TimePassed` is due, on the clock of `now`; None for never."""
        if self.closed:
            return None
        if self._state is SessionState.AWAITING_CONFIG:
            return self._quiet_since + self._limits.config_timeout_s
        idle_at = self._quiet_since + self._limits.idle_timeout_s if self.waiting else None
        return min((at for at in (self._speech.poll_at, idle_at) if at is not None), default=None)

    def context_state(self, context_id: str) -> ContextState:
        """Where a context is."""
        return self._speech.state(context_id)

    def receive(self, event: Event, now: float) -> list[Effect]:
        """Take note of an event at the time `now` and return what to do, in order.

        Nothing that a client sends makes it raise; an event that does not fit the state is ignored.
        """
        if self.closed:
            return []
        effects = self._EVENTS[type(event)](self, event, now)
        if not self._speech.alive and (cause := _CLOSE_WHEN_EMPTY.get(self._state)) is not None:
            effects = [*effects, *self._close(cause)]
        self._sending = self._sending or any(isinstance(effect, Send | SendAudio) for effect in effects)
        return effects

    # Socket and clock.

    def _received(self, event: Received, now: float) -> list[Effect]:
        self._quiet_since = now
        frame = decode(event.data, self._limits)
        return self._ACTIONS[SESSION_ACTIONS[self._state, frame.kind]](self, frame.kind, frame.content)

    def _disconnected(self, _event: Disconnected, _now: float) -> list[Effect]:
        self._state = SessionState.CLOSED
        return [Abort()]

    def _time_passed(self, _event: TimePassed, now: float) -> list[Effect]:
        deadline = self.next_deadline
        if deadline is None or now < deadline:
            return []
        if self._state is SessionState.AWAITING_CONFIG:
            return self._close(CloseCause.NO_CONFIG, ErrorCode.CONFIG_TIMEOUT)
        return self._speech.poll(now) or self._close(CloseCause.IDLE, ErrorCode.IDLE_TIMEOUT)

    def _output_sent(self, _event: OutputSent, now: float) -> list[Effect]:
        if self._sending:
            self._sending = False
            self._quiet_since = now
        return []

    def _shutdown(self, _event: Shutdown, _now: float) -> list[Effect]:
        if self._state is SessionState.AWAITING_CONFIG or not self._speech.alive:
            return self._close(CloseCause.SHUTDOWN, ErrorCode.SHUTDOWN)
        if self._state is not SessionState.OPEN:
            return []
        self._state = SessionState.DRAINING
        self._speech.refusal = ErrorCode.SHUTDOWN, CloseCause.SHUTDOWN.reason
        return self._error(ErrorCode.SHUTDOWN, CloseCause.SHUTDOWN.reason)

    def _cut_off(self, _event: CutOff, _now: float) -> list[Effect]:
        return [Abort(), *self._close(CloseCause.CUT_OFF, ErrorCode.SHUTDOWN)]

    # Segmenters and synthesis.

    def _unit_ready(self, event: UnitReady, _now: float) -> list[Effect]:
        return self._speech.unit_ready(event)

    def _flushed(self, event: Flushed, _now: float) -> list[Effect]:
        return self._speech.flushed(event)

    def _segmenter_deadline(self, event: SegmenterDeadline, _now: float) -> list[Effect]:
        return self._speech.segmenter_deadline(event)

    def _audio_chunk(self, event: AudioChunk, _now: float) -> list[Effect]:
        return self._speech.audio_chunk(event)

    def _unit_completed(self, event: UnitCompleted, _now: float) -> list[Effect]:
        return self._speech.unit_completed(event)

    def _unit_refused(self, event: UnitRefused, _now: float) -> list[Effect]:
        return self._speech.unit_refused(event)

    def _unit_failed(self, event: UnitFailed, _now: float) -> list[Effect]:
        if event.fatal and self._speech.is_playing(event.unit_id):
            return [Abort(), *self._close(CloseCause.SYNTHESIS_LOST, ErrorCode.ENGINE_LOST, event.message)]
        return self._speech.unit_failed(event)

    # Messages.

    def _apply_config(self, _kind: MessageKind, config: DuplexConfig) -> list[Effect]:
        fault = self._find_fault(config)
        if fault is not None:
            return self._error(ErrorCode.INVALID_CONFIG, f"session.config: {fault}")
        self._speech.config = config
        if self._state is SessionState.AWAITING_CONFIG:
            self._state = SessionState.OPEN
        return [Send(self._ready)]

    def _find_fault(self, config: DuplexConfig) -> str | None:
        if config.sample_rate not in (None, self._ready.sample_rate):
            return f"sample_rate: only {self._ready.sample_rate} is spoken here"
        return self._check_model(config.model) if config.model else None

    def _to_context(self, kind: MessageKind, message: ContextMessage) -> list[Effect]:
        return self._speech.take(kind, message)

    def _pong(self, _kind: MessageKind, ping: Ping) -> list[Effect]:
        return [Send(Pong(id=ping.id), urgent=True)]

    def _finish(self, _kind: MessageKind, _message: SessionClose) -> list[Effect]:
        self._state = SessionState.CLOSING
        return self._speech.cancel_unfinished()

    def _report(self, _kind: MessageKind, error: ErrorMessage) -> list[Effect]:
        return self._speech.reply(error)

    def _require_config(self, _kind: MessageKind, message: ContextMessage) -> list[Effect]:
        return self._error(ErrorCode.CONFIG_REQUIRED, "send a valid session.config first", message.context_id)

    def _ignore(self, _kind: MessageKind, _content: object) -> list[Effect]:
        return []

    # What several of the above do.

    def _error(self, code: ErrorCode, text: str, context_id: str | None = None) -> list[Effect]:
        return self._speech.reply(ErrorMessage.of(code, encodable(text), context_id))

    def _close(self, cause: CloseCause, code: ErrorCode | None = None, text: str | None = None) -> list[Effect]:
        self._state = SessionState.CLOSED
        error = [] if code is None else self._error(code, text or cause.reason)
        return [*error, CloseConnection(cause.code, cause.reason)]

    # Each handler takes its own message or event type, which a mapping cannot express.
    _ACTIONS: ClassVar[Mapping[Action, Callable[["DuplexSession", MessageKind, Any], list[Effect]]]] = MappingProxyType(
        {
            Action.APPLY_CONFIG: _apply_config,
            Action.TO_CONTEXT: _to_context,
            Action.PONG: _pong,
            Action.FINISH: _finish,
            Action.REPORT: _report,
            Action.REQUIRE_CONFIG: _require_config,
            Action.IGNORE: _ignore,
        }
    )
    _EVENTS: ClassVar[Mapping[type[Event], Callable[["DuplexSession", Any, float], list[Effect]]]] = MappingProxyType(
        {
            Received: _received,
            Disconnected: _disconnected,
            TimePassed: _time_passed,
            OutputSent: _output_sent,
            Shutdown: _shutdown,
            CutOff: _cut_off,
            UnitReady: _unit_ready,
            Flushed: _flushed,
            SegmenterDeadline: _segmenter_deadline,
            AudioChunk: _audio_chunk,
            UnitCompleted: _unit_completed,
            UnitRefused: _unit_refused,
            UnitFailed: _unit_failed,
        }
    )
