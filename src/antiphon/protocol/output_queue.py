"""Everything a session still has to send, in the order in which the client's messages caused it."""

from collections import deque
from dataclasses import dataclass

from antiphon.protocol.closing import CloseCause
from antiphon.protocol.dialects import Dialect
from antiphon.protocol.events import Abort, CloseConnection, Effect, Play, Prepare, Send, SendAudio
from antiphon.protocol.limits import Limits
from antiphon.protocol.messages import AudioDone, AudioStart, ErrorMessage, ServerMessage
from antiphon.protocol.session_config import SessionConfig

# The playing unit and two more: a scheduler that prefetches one always has it. What waits behind costs little.
MOST_PREPARED = 3


@dataclass(frozen=True, slots=True)
class QueuedUnit:
    """A unit that waits for its turn.

    Attributes:
        unit_id: counts from 0 over the session.
        utterance_index: of its flush.
        sentence_index: in its flush.
        text: what to speak.
        config: how.
        chars: what it counts for against `Limits.max_pending_chars`.
    """

    unit_id: int
    utterance_index: int
    sentence_index: int
    text: str
    config: SessionConfig
    chars: int


class OutputQueue:
    """Replies, units and the close, sent strictly one after another; a unit holds up what is behind it.

    Args:
        dialect: decides what `audio.start` and an error carry.
        limits: its `max_pending_*` decide when the queue is full.
    """

    def __init__(self, dialect: Dialect, limits: Limits) -> None:
        self._dialect = dialect
        # Full at one mark, and until all have fallen to a quarter: a driver that pauses and resumes a socket should
        # not do so for every unit.
        self._high = (limits.max_pending_units, limits.max_pending_chars, limits.max_pending_replies)
        self._low = tuple(high // 4 + 1 for high in self._high)
        self._items: deque[QueuedUnit | ServerMessage | CloseCause] = deque()
        self._unprepared: deque[QueuedUnit] = deque()
        self._prepared = 0
        self._playing: QueuedUnit | None = None
        self._sent_bytes = 0
        self._units = self._chars = self._replies = 0
        self.full = False
        self.closed = False

    @property
    def pending(self) -> bool:
        """Whether anything is left to send. What is not a unit only waits behind one."""
        return self._playing is not None

    def add(self, *items: QueuedUnit | ServerMessage | CloseCause) -> list[Effect]:
        """Append items and return what can be sent now."""
        for item in items:
            self._items.append(item)
            if isinstance(item, QueuedUnit):
                self._unprepared.append(item)
            self._count(item, 1)
        return self._drain()

    def audio(self, data: bytes) -> list[Effect]:
        """Audio of the playing unit."""
        if self._playing is None:
            return []
        self._sent_bytes += len(data)
        return [SendAudio(data)]

    def complete(self) -> list[Effect]:
        """The playing unit has been spoken."""
        return [*self._end_unit(failed=False), *self._drain()]

    def fail(self, reason: str) -> list[Effect]:
        """The playing unit failed; the next one follows."""
        return [*self._report_failure(reason), *self._end_unit(failed=True), *self._drain()]

    def fail_for_good(self, reason: str) -> list[Effect]:
        """The playing unit failed and none can follow: everything behind it is dropped."""
        return [*self._report_failure(reason), *self._end_unit(failed=True), *self.cut_off(CloseCause.SYNTHESIS_LOST)]

    def cut_off(self, cause: CloseCause) -> list[Effect]:
        """Drop everything that waits or plays, and close."""
        self._items.clear()
        self._unprepared.clear()
        self._playing = None
        return [Abort(), *self.add(cause)]

    def _prepare(self) -> list[Effect]:
        effects: list[Effect] = []
        while self._unprepared and self._prepared < MOST_PREPARED:
            unit = self._unprepared.popleft()
            self._prepared += 1
            effects.append(Prepare(unit.unit_id, unit.text, unit.config))
        return effects

    def _drain(self) -> list[Effect]:
        effects = self._prepare()
        while self._items and self._playing is None and not self.closed:
            item = self._items.popleft()
            if isinstance(item, QueuedUnit):
                effects += self._start(item)
            elif isinstance(item, CloseCause):
                self.closed = True
                effects.append(CloseConnection(item.code, item.reason))
            else:
                self._count(item, -1)
                effects.append(Send(item))
        self._update_full()
        return effects

    def _start(self, unit: QueuedUnit) -> tuple[Effect, Effect]:
        self._playing, self._sent_bytes = unit, 0
        config = unit.config
        streamed_pcm = config.stream_audio and config.response_format == "pcm"
        start = AudioStart(
            utterance_index=unit.utterance_index,
            sentence_index=unit.sentence_index,
            sentence_text=unit.text,
            format=config.response_format,
            sample_rate=self._dialect.sample_rate if streamed_pcm else None,
        )
        return Send(start), Play(unit.unit_id)

    def _report_failure(self, reason: str) -> list[Effect]:
        unit = self._playing
        if unit is None:
            return []
        text = f"Generation failed for utterance {unit.utterance_index}, sentence {unit.sentence_index}: {reason}"
        if self._sent_bytes and self._dialect.marks_partial_audio:
            return [Send(ErrorMessage(message=text, partial_audio=True, action="discard"))]
        return [Send(ErrorMessage(message=text))]

    def _end_unit(self, *, failed: bool) -> list[Effect]:
        unit = self._playing
        if unit is None:
            return []
        self._playing = None
        self._prepared -= 1
        self._count(unit, -1)
        done = AudioDone(
            utterance_index=unit.utterance_index,
            sentence_index=unit.sentence_index,
            total_bytes=self._sent_bytes,
            error=failed,
        )
        return [Send(done)]

    def _count(self, item: QueuedUnit | ServerMessage | CloseCause, sign: int) -> None:
        if isinstance(item, QueuedUnit):
            self._units += sign
            self._chars += sign * item.chars
        elif not isinstance(item, CloseCause):
            self._replies += sign
            self._chars += sign * (len(item.message) if isinstance(item, ErrorMessage) else 0)

    def _update_full(self) -> None:
        units, chars, replies = self._low if self.full else self._high
        self.full = self._units >= units or self._chars >= chars or self._replies >= replies
