"""What the contexts of a session do: their messages, their segmenters, their units."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, ClassVar

from antiphon.protocol.decode import encodable
from antiphon.protocol.duplex.contexts import FLUSH_BYTES, Context, Contexts, Mark, Unit
from antiphon.protocol.duplex.errors import ErrorCode
from antiphon.protocol.duplex.events import (
    AudioChunk,
    CloseContext,
    Effect,
    Feed,
    Flush,
    Flushed,
    OpenContext,
    Poll,
    SegmenterDeadline,
    Send,
    UnitCompleted,
    UnitFailed,
    UnitReady,
    UnitRefused,
)
from antiphon.protocol.duplex.line import Line
from antiphon.protocol.duplex.messages import (
    AudioCancelled,
    ContextMessage,
    DuplexConfig,
    ErrorMessage,
    InputCancel,
    InputDone,
    InputFlush,
    InputFlushed,
    InputText,
    SessionLimits,
)
from antiphon.protocol.duplex.transitions import CONTEXT_TRANSITIONS, ContextAction, ContextState, MessageKind


class Speech:
    """The contexts and whose turn it is.

    Args:
        limits: how much may wait.
        sample_rate: of all audio, samples per second.

    Attributes:
        config: of contexts that are opened from now on.
        refusal: why no more are opened; None while they are.
    """

    def __init__(self, limits: SessionLimits, sample_rate: int) -> None:
        self._limits = limits
        self._contexts = Contexts()
        self._line = Line(sample_rate)
        self._units = 0
        self.config = DuplexConfig()
        self.refusal: tuple[ErrorCode, str] | None = None

    @property
    def alive(self) -> bool:
        """Whether there is a context that is not over."""
        return bool(len(self._contexts))

    @property
    def playing(self) -> bool:
        """Whether a unit plays. If not, whatever waits waits for the client."""
        return self._line.playing is not None

    @property
    def poll_at(self) -> float | None:
        """When the first segmenter wants to be polled."""
        return min((context.poll_at for context in self._contexts if context.poll_at is not None), default=None)

    def state(self, context_id: str) -> ContextState:
        """Where a context is."""
        return self._contexts.state(context_id)

    def is_playing(self, unit_id: int) -> bool:
        """Whether it is this unit that plays."""
        return self._line.playing is not None and self._line.playing.unit.unit_id == unit_id

    def poll(self, now: float) -> list[Effect]:
        """Poll the segmenters that wanted it by now."""
        due = [context for context in self._contexts if context.poll_at is not None and context.poll_at <= now]
        for context in due:
            context.poll_at = None
        return [Poll(context.context_id) for context in due]

    def reply(self, error: ErrorMessage) -> list[Effect]:
        """Send an error; what concerns a living context is dropped with it."""
        context = None if error.context_id is None else self._contexts.get(error.context_id)
        return [Send(error, None if context is None else context.context_id)]

    # Messages.

    def take(self, kind: MessageKind, message: ContextMessage) -> list[Effect]:
        """A message to a context came."""
        state = self._contexts.state(message.context_id)
        transition = CONTEXT_TRANSITIONS[state, kind]
        if transition.code is not None:
            return self._refuse(transition.code, f"{kind}: the context is {state}", message.context_id)
        return self._ACTIONS[transition.action](self, message)

    def cancel_unfinished(self) -> list[Effect]:
        """Cancel every context whose text is not complete."""
        unfinished = [context for context in self._contexts if context.state is ContextState.OPEN]
        cancelled = [effect for context in unfinished for effect in self._cancel_context(context)]
        return [*cancelled, *self._advance()]

    def _open(self, message: InputText) -> list[Effect]:
        refusal = self.refusal or self._find_crowd() or self._find_backlog(len(message.text.encode()))
        if refusal is not None:
            return self._refuse(*refusal, message.context_id)
        options = {"voice": message.voice, "language": message.language, "speed": message.speed}
        given = {name: value for name, value in options.items() if value is not None}
        context = self._contexts.open(message.context_id, self.config.model_copy(update=given))
        return [OpenContext(context.context_id, context.config), *self._take_text(context, message.text)]

    def _feed(self, message: InputText) -> list[Effect]:
        refusal = self._find_backlog(len(message.text.encode()))
        if refusal is not None:
            return self._refuse(*refusal, message.context_id)
        return self._take_text(self._contexts[message.context_id], message.text)

    def _take_text(self, context: Context, text: str) -> list[Effect]:
        if not text:
            return []
        context.feed(text)
        return [Feed(context.context_id, text)]

    def _flush(self, message: InputFlush) -> list[Effect]:
        refusal = self._find_backlog(FLUSH_BYTES)
        if refusal is not None:
            return self._refuse(*refusal, message.context_id)
        answer = InputFlushed(context_id=message.context_id, flush_id=message.flush_id)
        self._contexts[message.context_id].expect(answer)
        return [Flush(message.context_id)]

    def _complete(self, message: InputDone) -> list[Effect]:
        context = self._contexts[message.context_id]
        context.state = ContextState.DONE
        context.expect(None)
        return [Flush(message.context_id)]

    def _cancel(self, message: InputCancel) -> list[Effect]:
        return [*self._cancel_context(self._contexts[message.context_id]), *self._advance()]

    def _ignore(self, _message: ContextMessage) -> list[Effect]:
        return []

    def _find_crowd(self) -> tuple[ErrorCode, str] | None:
        most = self._limits.max_contexts
        return (ErrorCode.TOO_MANY_CONTEXTS, f"{most} contexts are alive") if len(self._contexts) >= most else None

    def _find_backlog(self, more_bytes: int) -> tuple[ErrorCode, str] | None:
        most = self._limits.max_backlog_bytes
        if more_bytes and self._contexts.waiting_bytes + more_bytes > most:
            return ErrorCode.BACKLOG, f"at most {most} bytes of text may wait to be spoken"
        return None

    def _refuse(self, code: ErrorCode, text: str, context_id: str) -> list[Effect]:
        return self.reply(ErrorMessage.of(code, encodable(text), context_id))

    def _cancel_context(self, context: Context) -> list[Effect]:
        self._end(context)
        cancelled = AudioCancelled(context_id=context.context_id, audio_samples_sent=context.samples_sent)
        return [CloseContext(context.context_id, cancelled=True), Send(cancelled, urgent=True)]

    # Segmenters.

    def unit_ready(self, event: UnitReady) -> list[Effect]:
        """A unit joins its context."""
        context = self._contexts.get(event.context_id)
        if context is None:
            return []
        context.items.append(
            Unit(self._units, context.units, event.text, (event.start, event.end), speakable=event.speakable)
        )
        self._units += 1
        context.units += 1
        self._line.join(context)
        return self._advance()

    def flushed(self, event: Flushed) -> list[Effect]:
        """The units up to a flush, or to the end, have all come."""
        context = self._contexts.get(event.context_id)
        if context is None or not context.unmarked:
            return []
        mark = context.unmarked.popleft()
        if not self._line.holds(context):  # it has had no unit yet, so there is nothing to wait for
            return [*self._pass(context, mark), *self._advance()]
        context.items.append(mark)
        return self._advance()

    def segmenter_deadline(self, event: SegmenterDeadline) -> list[Effect]:
        """A segmenter wants to be polled."""
        context = self._contexts.get(event.context_id)
        if context is not None:
            context.poll_at = event.at
        return []

    # Synthesis.

    def audio_chunk(self, event: AudioChunk) -> list[Effect]:
        """Audio of the playing unit."""
        return self._line.audio(event.data) if self.is_playing(event.unit_id) else []

    def unit_completed(self, event: UnitCompleted) -> list[Effect]:
        """The playing unit has been spoken."""
        if not self.is_playing(event.unit_id):
            return []
        return [*self._line.complete(event), *self._advance()]

    def unit_refused(self, event: UnitRefused) -> list[Effect]:
        """The playing unit's context may not speak."""
        return self._fail_context(event.unit_id, ErrorCode.CAPACITY, event.message)

    def unit_failed(self, event: UnitFailed) -> list[Effect]:
        """The playing unit cannot be spoken; one that is fatal is the session's matter."""
        if event.invalid:
            return self._fail_context(event.unit_id, ErrorCode.INVALID_REQUEST, event.message)
        playing = self._line.playing
        if playing is None or not self.is_playing(event.unit_id):
            return []
        announced = self._line.announce(playing)
        failure = self._refuse(ErrorCode.SYNTHESIS_FAILED, event.message, playing.context.context_id)
        return [*announced, *failure, *self._line.complete(None), *self._advance()]

    def _fail_context(self, unit_id: int, code: ErrorCode, text: str) -> list[Effect]:
        playing = self._line.playing
        if playing is None or not self.is_playing(unit_id):
            return []
        context_id = playing.context.context_id
        self._end(playing.context)
        failure = self._refuse(code, text, context_id)
        return [*failure, CloseContext(context_id, cancelled=False), *self._advance()]

    # Turns.

    def _advance(self) -> list[Effect]:
        """Say what can be said now, and prepare what comes next."""
        effects: list[Effect] = []
        while (turn := self._line.next_item()) is not None:
            context, item = turn
            effects += self._pass(context, item) if isinstance(item, Mark) else self._line.play(context, item)
        return [*effects, *self._line.prepare_ahead()]

    def _pass(self, context: Context, mark: Mark) -> list[Effect]:
        context.pass_mark(mark)
        if mark.answer is not None:
            return [Send(mark.answer, context.context_id)]
        ended = self._line.end(context)
        self._end(context)
        return ended

    def _end(self, context: Context) -> None:
        self._line.leave(context)
        self._contexts.end(context)

    # Each handler takes its own message type, which a mapping cannot express.
    _ACTIONS: ClassVar[Mapping[ContextAction, Callable[["Speech", Any], list[Effect]]]] = MappingProxyType(
        {
            ContextAction.OPEN: _open,
            ContextAction.FEED: _feed,
            ContextAction.FLUSH: _flush,
            ContextAction.COMPLETE: _complete,
            ContextAction.CANCEL: _cancel,
            ContextAction.IGNORE: _ignore,
        }
    )
