"""Whose turn it is: contexts speak one after another, each until it is done, in the order in which each had a unit."""

from collections.abc import Iterator
from dataclasses import dataclass

from antiphon.protocol.duplex.contexts import BYTES_PER_SAMPLE, Context, Mark, Unit
from antiphon.protocol.duplex.events import CloseContext, Effect, Play, Prepare, Send, SendAudio, UnitCompleted
from antiphon.protocol.duplex.messages import AudioDone, AudioStart, ContextDone
from antiphon.protocol.duplex.transitions import ContextState

MOST_AHEAD = 2  # units prepared besides the one that plays


@dataclass(slots=True)
class Playing:
    """The unit whose turn it is.

    Attributes:
        context: whose.
        unit: which.
        announced: whether its `AudioStart` was sent. That waits for the first audio, since a unit may be refused.
        sent_bytes: of its audio.
    """

    context: Context
    unit: Unit
    announced: bool = False
    sent_bytes: int = 0


class Line:
    """The contexts that have something to say.

    Args:
        sample_rate: of all audio, samples per second.
    """

    def __init__(self, sample_rate: int) -> None:
        self._sample_rate = sample_rate
        self._contexts: list[Context] = []
        self._prepared: set[int] = set()  # units that wait for their turn
        self._utterances = 0
        self.playing: Playing | None = None

    def join(self, context: Context) -> None:
        """A context has something to say."""
        if context not in self._contexts:
            self._contexts.append(context)

    def holds(self, context: Context) -> bool:
        """Whether the context speaks or waits for its turn."""
        return context in self._contexts

    def leave(self, context: Context) -> None:
        """A context is over; what it had to say is dropped."""
        if context in self._contexts:
            self._contexts.remove(context)
        self._prepared -= {item.unit_id for item in context.items if isinstance(item, Unit)}
        if self.playing is not None and self.playing.context is context:
            self.playing = None

    # Turns.

    def next_item(self) -> tuple[Context, Unit | Mark] | None:
        """Take what comes next; None while a unit plays, or while whoever holds the line has nothing to say."""
        if self.playing is not None or not self._contexts or not self._contexts[0].items:
            return None
        context = self._contexts[0]
        return context, context.items.popleft()

    def play(self, context: Context, unit: Unit) -> list[Effect]:
        """Give a unit its turn."""
        self.playing = Playing(context, unit)
        if not unit.speakable:
            return self.complete(UnitCompleted(unit.unit_id))
        prepared = [] if unit.unit_id in self._prepared else [_prepare(context, unit)]
        self._prepared.discard(unit.unit_id)
        return [*prepared, Play(unit.unit_id)]

    def prepare_ahead(self) -> list[Effect]:
        """Prepare what certainly comes next."""
        effects: list[Effect] = []
        for context, unit in self._coming():
            if len(self._prepared) >= MOST_AHEAD:
                break
            if unit.unit_id not in self._prepared:
                self._prepared.add(unit.unit_id)
                effects.append(_prepare(context, unit))
        return effects

    def _coming(self) -> Iterator[tuple[Context, Unit]]:
        for context in self._contexts:
            for item in context.items:
                if isinstance(item, Unit) and item.speakable:
                    yield context, item
            if context.state is ContextState.OPEN:  # it may have more to say before the next one's turn
                return

    # The unit that plays.

    def audio(self, data: bytes) -> list[Effect]:
        """Audio of the playing unit."""
        playing = self.playing
        if playing is None or not data:
            return []
        announced = self.announce(playing)
        playing.sent_bytes += len(data)
        playing.context.sent_bytes += len(data)
        return [*announced, SendAudio(playing.context.context_id, data)]

    def announce(self, playing: Playing) -> list[Effect]:
        """Send a unit's `AudioStart`, once."""
        if playing.announced:
            return []
        playing.announced = True
        context, unit = playing.context, playing.unit
        start = AudioStart(
            context_id=context.context_id,
            utterance_index=self._utterance_index(context),
            sentence_index=unit.sentence_index,
            sentence_text=unit.text,
            sample_rate=self._sample_rate,
            span=unit.span,
        )
        return [Send(start, context.context_id)]

    def complete(self, how: UnitCompleted | None) -> list[Effect]:
        """The playing unit is over: completed, or else it failed."""
        playing, self.playing = self.playing, None
        if playing is None:
            return []
        announced = self.announce(playing)
        playing.context.spoken_to(playing.unit.span[1])
        return [*announced, Send(self._done(playing, how), playing.context.context_id)]

    def end(self, context: Context) -> list[Effect]:
        """Everything of a context has been spoken."""
        done = ContextDone(
            context_id=context.context_id,
            utterance_index=self._utterance_index(context),
            total_sentences=context.units,
        )
        return [Send(done, context.context_id), CloseContext(context.context_id, cancelled=False)]

    def _done(self, playing: Playing, how: UnitCompleted | None) -> AudioDone:
        duration_s = playing.sent_bytes / BYTES_PER_SAMPLE / self._sample_rate
        first_chunk_s = None if how is None else how.first_chunk_s
        return AudioDone(
            context_id=playing.context.context_id,
            utterance_index=self._utterance_index(playing.context),
            sentence_index=playing.unit.sentence_index,
            total_bytes=playing.sent_bytes,
            error=how is None,
            duration_ms=round(duration_s * 1000, 3),
            first_chunk_ms=None if first_chunk_s is None else round(first_chunk_s * 1000, 3),
            rtf=None if how is None or not duration_s else round(how.synthesis_s / duration_s, 4),
            characters=len(playing.unit.text),
        )

    def _utterance_index(self, context: Context) -> int:
        if context.utterance_index is None:
            context.utterance_index = self._utterances
            self._utterances += 1
        return context.utterance_index


def _prepare(context: Context, unit: Unit) -> Prepare:
    return Prepare(unit.unit_id, context.context_id, unit.text, context.config)
