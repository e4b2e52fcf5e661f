"""The contexts of a session: those that are alive, and the ids of those that are over."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from antiphon.protocol.duplex.messages import DuplexConfig, InputFlushed
from antiphon.protocol.duplex.transitions import ContextState

MOST_REMEMBERED = 1024
BYTES_PER_SAMPLE = 2
FLUSH_BYTES = 64  # what a flush that waits counts for, so that flushes cannot pile up either


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit that waits for its turn.

    Attributes:
        unit_id: counts from 0 over the session.
        sentence_index: counts from 0 in the context.
        text: what to speak.
        span: which code points of the context's input that is.
        speakable: whether there is anything to be heard.
    """

    unit_id: int
    sentence_index: int
    text: str
    span: tuple[int, int]
    speakable: bool


@dataclass(frozen=True, slots=True)
class Mark:
    """Where the text before a flush, or all of it, has been spoken.

    Attributes:
        end: where that is in the input, in code points.
        answer: to the flush; None for the end of the context.
    """

    end: int
    answer: InputFlushed | None


@dataclass(slots=True, eq=False)
class Context:
    """One context that is alive.

    Attributes:
        context_id: chosen by the client.
        config: how it is spoken.
        state: OPEN or DONE.
        items: what it has still to say, in order.
        unmarked: flushes and the end that its segmenter has yet to answer.
        poll_at: when its segmenter wants to be polled.
        utterance_index: once it has spoken.
        units: that came so far.
        sent_bytes: of its audio.
    """

    context_id: str
    config: DuplexConfig
    state: ContextState = ContextState.OPEN
    items: deque[Unit | Mark] = field(default_factory=deque)
    unmarked: deque[Mark] = field(default_factory=deque)
    poll_at: float | None = None
    utterance_index: int | None = None
    units: int = 0
    sent_bytes: int = 0
    fed_chars: int = 0
    waiting_bytes: int = 0
    _pieces: deque[str] = field(default_factory=deque)
    _spoken_chars: int = 0

    @property
    def samples_sent(self) -> int:
        """Audio of it that was sent."""
        return self.sent_bytes // BYTES_PER_SAMPLE

    def feed(self, text: str) -> None:
        """Text came that waits to be spoken."""
        self.fed_chars += len(text)
        self.waiting_bytes += len(text.encode())
        self._pieces.append(text)

    def spoken_to(self, end: int) -> None:
        """The text up to a code point does not wait any more."""
        while self._pieces and self._spoken_chars < end:
            piece = self._pieces.popleft()
            spoken = piece[: end - self._spoken_chars]
            if len(spoken) < len(piece):
                self._pieces.appendleft(piece[len(spoken) :])
            self._spoken_chars += len(spoken)
            self.waiting_bytes -= len(spoken.encode())

    def expect(self, answer: InputFlushed | None) -> None:
        """A flush, or the end, waits until what came before has been spoken."""
        self.waiting_bytes += FLUSH_BYTES
        self.unmarked.append(Mark(self.fed_chars, answer))

    def pass_mark(self, mark: Mark) -> None:
        """What came before the mark has been spoken."""
        self.waiting_bytes -= FLUSH_BYTES
        self.spoken_to(mark.end)


class Contexts:
    """All contexts of a session."""

    def __init__(self) -> None:
        self._alive: dict[str, Context] = {}
        self._over: dict[str, None] = {}  # in the order in which they ended

    def __len__(self) -> int:
        return len(self._alive)

    def __iter__(self) -> Iterator[Context]:
        return iter(tuple(self._alive.values()))

    @property
    def waiting_bytes(self) -> int:
        """Text that waits to be spoken, in bytes of UTF-8, and what waiting flushes count for."""
        return sum(context.waiting_bytes for context in self._alive.values())

    def __getitem__(self, context_id: str) -> Context:
        return self._alive[context_id]

    def get(self, context_id: str) -> Context | None:
        """Return the context if it is alive."""
        return self._alive.get(context_id)

    def state(self, context_id: str) -> ContextState:
        """Where a context is, by its id."""
        context = self._alive.get(context_id)
        if context is not None:
            return context.state
        return ContextState.OVER if context_id in self._over else ContextState.UNKNOWN

    def open(self, context_id: str, config: DuplexConfig) -> Context:
        """Add a context."""
        context = self._alive[context_id] = Context(context_id, config)
        return context

    def end(self, context: Context) -> None:
        """A context is over."""
        del self._alive[context.context_id]
        self._over[context.context_id] = None
        if len(self._over) > MOST_REMEMBERED:
            del self._over[next(iter(self._over))]
