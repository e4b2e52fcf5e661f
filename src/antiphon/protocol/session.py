"""The server's side of one connection, without any input or output of its own.

`SpeechSession` is told what happened (`events`) and answers with what to do (effects). It follows the loop of
vLLM-Omni's ``OmniStreamingSpeechHandler`` with one difference that a client cannot see: that loop stops reading
while it speaks, this machine reads ahead. What a message causes, a unit, a reply or the close, joins one ordered
queue, so the output is the same as if each message were finished before the next is read. Only a disconnect
overtakes. The close frames are listed in `closing`, all differences from vLLM-Omni in ``docs/conformance.md``.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, ClassVar

from pydantic import ValidationError

from antiphon.protocol.closing import CloseCause
from antiphon.protocol.decode import ClientFrame, decode, encodable, is_encodable
from antiphon.protocol.dialects import Dialect
from antiphon.protocol.events import (
    Abort,
    AudioChunk,
    ConfigureSplitter,
    CutOff,
    Disconnected,
    Effect,
    Event,
    Feed,
    Flush,
    Flushed,
    OutputSent,
    Received,
    Send,
    SendAudio,
    Shutdown,
    TimePassed,
    UnitCompleted,
    UnitFailed,
    UnitReady,
)
from antiphon.protocol.limits import Limits
from antiphon.protocol.messages import ErrorMessage, SessionDone
from antiphon.protocol.output_queue import OutputQueue, QueuedUnit
from antiphon.protocol.session_config import SessionConfig
from antiphon.protocol.speech_request import NO_ALIGNER, find_invalid_request
from antiphon.protocol.transitions import TRANSITIONS, Action, State
from antiphon.protocol.utterance import UtteranceCounter

type _Outcome = tuple[State, list[Effect]]


class SpeechSession:
    """One connection to ``/v1/audio/speech/stream``.

    The driver delivers events one at a time and carries out the effects in order. It answers `Feed` and `Flush`
    at once, before any other event, with `UnitReady`s (and `Flushed`), and tells with `OutputSent` when the socket has
    taken what was to be sent.

    Args:
        dialect: the version to speak.
        limits: how much may wait and for how long.
        check_model: given a model's name, returns None or the error text for an unknown one.
        now: seconds of a monotonic clock, as in `receive`.
    """

    def __init__(
        self, dialect: Dialect, *, limits: Limits, check_model: Callable[[str], str | None], now: float
    ) -> None:
        self._dialect = dialect
        self._limits = limits
        self._check_model = check_model
        self._state = State.AWAITING_CONFIG
        self._config = SessionConfig()
        self._config_chars = 0  # of a config that no unit was charged with yet
        self._output = OutputQueue(dialect, limits)
        self._quiet_since = now
        self._sending = False
        self._counter = UtteranceCounter()
        self._unit_count = 0
        self._flushing = False
        self._shutting_down = False

    @property
    def state(self) -> State:
        """Where the session is; `TRANSITIONS` says where it can go."""
        return self._state

    @property
    def closed(self) -> bool:
        """Whether the session is over; every event is ignored then."""
        return self._state is State.CLOSED

    @property
    def reading(self) -> bool:
        """Whether the driver should deliver messages.

        False at the read-ahead bound. True while closing, when messages are ignored, to notice a disconnect.
        """
        return self._state is State.CLOSING or not (self.closed or self._output.full)

    @property
    def next_deadline(self) -> float | None:
        """When `TimePassed` is due, on the clock of `now`; None for never."""
        if self._state is State.AWAITING_CONFIG:
            return self._quiet_since + self._limits.config_timeout_s
        if self._state in (State.CLOSING, State.CLOSED) or self._output.pending or self._sending:
            return None
        return self._quiet_since + self._limits.idle_timeout_s

    def receive(self, event: Event, now: float) -> list[Effect]:
        """Take note of an event at the time `now` and return what to do, in order.

        Nothing that a client sends makes it raise; an event that does not fit the state is ignored.
        """
        if self._state is State.CLOSED:
            return []
        effects = self._EVENTS[type(event)](self, event, now)
        self._sending = self._sending or any(isinstance(effect, Send | SendAudio) for effect in effects)
        return effects

    # Socket and clock.

    def _received(self, event: Received, now: float) -> list[Effect]:
        self._quiet_since = now
        if self._state is State.CLOSING:
            return []
        frame = decode(event.data, self._limits)
        action = TRANSITIONS[self._state, frame.kind].action
        state, effects = self._ACTIONS[action](self, frame)
        self._enter(state)
        return effects

    def _disconnected(self, _event: Disconnected, _now: float) -> list[Effect]:
        self._state = State.CLOSED
        return [Abort()]

    def _time_passed(self, _event: TimePassed, now: float) -> list[Effect]:
        deadline = self.next_deadline
        if deadline is None or now < deadline:
            return []
        if self._state is State.AWAITING_CONFIG:
            state, effects = self._close("Timeout waiting for session.config", CloseCause.NO_CONFIG)
        else:
            state, effects = self._close("Idle timeout: no message received", CloseCause.IDLE)
        self._enter(state)
        return effects

    def _output_sent(self, _event: OutputSent, now: float) -> list[Effect]:
        if self._sending:
            self._sending = False
            self._quiet_since = now
        return []

    def _cut_off(self, _event: CutOff, _now: float) -> list[Effect]:
        self._state = State.CLOSED
        return self._output.cut_off(CloseCause.CUT_OFF)

    def _shutdown(self, _event: Shutdown, _now: float) -> list[Effect]:
        self._shutting_down = True
        return self._close_if_shutting_down()

    def _close_if_shutting_down(self) -> list[Effect]:
        if not self._shutting_down or self._state in (State.UTTERANCE, State.CLOSING):
            return []
        effects = self._output.add(CloseCause.SHUTDOWN)
        self._enter(State.CLOSING)
        return effects

    # Splitter.

    def _unit_ready(self, event: UnitReady, _now: float) -> list[Effect]:
        if self._state not in (State.IDLE, State.UTTERANCE):
            return []
        sentence_index = self._counter.take_unit(event.end)
        if self._config.word_timestamps:
            return self._error(NO_ALIGNER)
        invalid = find_invalid_request(event.text, self._config, self._dialect)
        if invalid is not None:
            state, effects = self._close(invalid, CloseCause.INVALID_REQUEST)
            self._enter(state)
            return effects
        return self._enqueue(event.text, sentence_index)

    def _enqueue(self, text: str, sentence_index: int) -> list[Effect]:
        # A config may carry megabytes of reference audio; the first unit that keeps it alive is charged with it.
        chars, self._config_chars = len(text) + self._config_chars, 0
        unit_id = self._unit_count
        self._unit_count += 1
        unit = QueuedUnit(unit_id, self._counter.utterance_index, sentence_index, text, self._config, chars)
        return self._output.add(unit)

    def _flushed(self, _event: Flushed, _now: float) -> list[Effect]:
        if not self._flushing:
            return []
        self._flushing = False
        counter = self._counter
        done = SessionDone(utterance_index=counter.utterance_index, total_sentences=counter.sentence_index)
        counter.end_flush()
        return [*self._output.add(done), *self._close_if_shutting_down()]

    # Synthesis.

    def _audio_chunk(self, event: AudioChunk, _now: float) -> list[Effect]:
        return self._output.audio(event.data)

    def _unit_completed(self, _event: UnitCompleted, _now: float) -> list[Effect]:
        effects = self._output.complete()
        self._enter(self._state)
        return effects

    def _unit_failed(self, event: UnitFailed, _now: float) -> list[Effect]:
        if not self._output.pending:
            return []
        fail = self._output.fail_for_good if event.fatal else self._output.fail
        effects = fail(encodable(event.message))
        self._enter(self._state)
        return effects

    # Client messages.

    def _apply_config(self, frame: ClientFrame) -> _Outcome:
        try:
            config = self._dialect.parse_config(frame.fields)
        except ValidationError as error:
            return self._refuse(f"Invalid session config: {error}")
        unknown = self._check_model(config.model) if config.model else None
        if unknown is not None:
            return self._refuse(unknown)
        self._config, self._config_chars = config, frame.chars
        return State.IDLE, [ConfigureSplitter(config.split_granularity)]

    def _refuse_config(self, _frame: ClientFrame) -> _Outcome:
        return self._refuse(self._dialect.busy_message)

    def _feed(self, frame: ClientFrame) -> _Outcome:
        text = frame.fields.get("text", "")
        if not isinstance(text, str):
            return self._refuse("input.text requires a string value")
        if not text:
            return State.UTTERANCE if self._dialect.empty_text_opens else self._state, []
        if not is_encodable(text):
            return self._refuse("input.text holds half of a surrogate pair, which is not a character")
        if self._counter.buffered_chars + len(text) > self._limits.max_buffered_chars:
            return self._refuse(f"input.text: at most {self._limits.max_buffered_chars} characters can be buffered")
        self._counter.feed(text)
        return State.UTTERANCE, [Feed(text)]

    def _flush(self, _frame: ClientFrame) -> _Outcome:
        self._flushing = True
        return State.IDLE, [Flush()]

    def _finish(self, _frame: ClientFrame) -> _Outcome:
        return State.CLOSING, self._output.add(CloseCause.REQUESTED)

    def _report(self, frame: ClientFrame) -> _Outcome:
        return self._refuse(frame.error or f"Unknown message type: {frame.type_name}")

    def _reject_start(self, frame: ClientFrame) -> _Outcome:
        error = frame.error or f"Expected session.config, got: {frame.type_name}"
        return self._close(error, CloseCause.BAD_START)

    def _reject_binary(self, frame: ClientFrame) -> _Outcome:
        return self._close(frame.error or "", CloseCause.BINARY_FRAME)

    # What several of the above do.

    def _enter(self, state: State) -> None:
        self._state = State.CLOSED if self._output.closed else state

    def _refuse(self, text: str) -> _Outcome:
        """Report an error; without a config the session cannot go on, with one it can."""
        if self._state is State.AWAITING_CONFIG:
            return self._close(text, CloseCause.BAD_START)
        return self._state, self._error(text)

    def _close(self, text: str, cause: CloseCause) -> _Outcome:
        return State.CLOSING, self._output.add(ErrorMessage(message=encodable(text)), cause)

    def _error(self, text: str) -> list[Effect]:
        return self._output.add(ErrorMessage(message=encodable(text)))

    _ACTIONS: ClassVar[Mapping[Action, Callable[["SpeechSession", ClientFrame], _Outcome]]] = MappingProxyType(
        {
            Action.APPLY_CONFIG: _apply_config,
            Action.REFUSE_CONFIG: _refuse_config,
            Action.FEED: _feed,
            Action.FLUSH: _flush,
            Action.FINISH: _finish,
            Action.REPORT: _report,
            Action.REJECT_START: _reject_start,
            Action.REJECT_BINARY: _reject_binary,
        }
    )
    # Each handler takes its own event type, which a mapping by type cannot express.
    _EVENTS: ClassVar[Mapping[type[Event], Callable[["SpeechSession", Any, float], list[Effect]]]] = MappingProxyType(
        {
            Received: _received,
            Disconnected: _disconnected,
            TimePassed: _time_passed,
            OutputSent: _output_sent,
            CutOff: _cut_off,
            Shutdown: _shutdown,
            UnitReady: _unit_ready,
            Flushed: _flushed,
            AudioChunk: _audio_chunk,
            UnitCompleted: _unit_completed,
            UnitFailed: _unit_failed,
        }
    )
