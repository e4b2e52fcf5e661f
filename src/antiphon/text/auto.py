"""Our own segmenter: from text deltas to units that are worth speaking."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from antiphon.text.boundaries import Strength
from antiphon.text.characters import speech_length
from antiphon.text.scanner import Break, Scanner
from antiphon.text.units import Unit

_BEST_FIRST: Final = sorted(Strength, reverse=True)


@dataclass(frozen=True, slots=True)
class AutoOptions:
    """What the segmenter trades between an early first sound and good prosody.

    A cut within a sentence is heard: each unit gets an intonation, and a pause, of its own. Only the first unit is worth
    one, because what follows arrives while it plays. Speech takes about 15 characters a second, so twenty characters
    (four words) cover more than a second; a language model at 30 tokens a second writes as much in 150 ms.

    The delay is a limit for slow text, not a wait: at 30 tokens a second the first unit of typical answers is complete
    after 300 ms on average. With 250 ms it would be complete after 220 ms, but half of the answers would be cut in
    mid-phrase (`benchmarks/segmenters.py` measures both).

    Attributes:
        max_buffer_delay_ms: how long text may be held back: the first unit, from the arrival of its first character,
            until it is cut between two words (but see `first_min_chars`); a complete unit that only waits to be merged,
            or to see what follows it, from its own completion.
        first_min_chars: the least that the first unit must have to end at a clause or between words.
        min_chars: a later sentence shorter than this is merged with the next one.
        max_chars: the most that a unit can have, and the one reason to cut within a word.

    Lengths are in characters; for `first_min_chars` and `min_chars` an ideograph or a syllable counts as three.
    """

    max_buffer_delay_ms: int = 500
    first_min_chars: int = 20
    min_chars: int = 12
    max_chars: int = 600

    def __post_init__(self) -> None:
        if self.max_buffer_delay_ms < 0:
            raise ValueError("max_buffer_delay_ms must not be negative")
        if not 1 <= max(self.first_min_chars, self.min_chars) <= self.max_chars:
            raise ValueError("max_chars must be at least 1, first_min_chars and min_chars")


class AutoSegmenter:
    """Cuts text that is still being written into units, each as soon as it is safe.

    The first unit ends at a sentence, at a clause that is long enough, or, late, between two words. Later ones end at
    sentences, very short ones merged with the next. A line always ends the unit, unless it is one of a wrapped
    paragraph. Between calls nothing happens: time comes in as an argument, and `next_deadline` says when to poll.

    With `now` held still, the units depend on the text alone and not on the pieces it arrives in.
    """

    def __init__(self, options: AutoOptions | None = None) -> None:
        self._options = options or AutoOptions()
        self._delay_s = self._options.max_buffer_delay_ms / 1000
        self._reset()

    def _reset(self) -> None:
        self._scanner = Scanner()
        self._position = 0  # characters taken
        self._text: list[str] = []  # those not handed out, from the first visible one on
        self._cut = Break(0, Strength.LINE, 0)  # where the last unit ended
        self._latest: dict[Strength, Break] = {}  # the last break of each strength since
        self._is_first = True
        self._first_at: float | None = None  # when the first visible character came
        self._held: Break | None = None  # where the text would be cut if nothing more came
        self._held_at = 0.0

    @property
    def next_deadline(self) -> float | None:
        """When `poll` will return a unit if no text comes before; in seconds, on the clock of `now`."""
        since = []
        if self._held:
            since.append(self._held_at)
        if self._first_at is not None and (self._held or self._word_cut()):
            since.append(self._first_at)
        return min(since) + self._delay_s if since else None

    def feed(self, text: str, now: float) -> list[Unit]:
        """Take the next piece of text, of any size, that came at `now` seconds; return the units that are complete."""
        units: list[Unit] = []
        for ch in text:
            self._take(ch, units)
        if self._is_first and self._first_at is None and self._text:
            self._first_at = now
        self._hold(now)
        return units + self.poll(now)

    def poll(self, now: float) -> list[Unit]:
        """Return the unit, if there is one, that has been held back for too long at `now` seconds."""
        place = self._due(now)
        if place is None:
            return []
        unit = self._cut_at(place)
        self._hold(now)
        return [unit]

    def flush(self) -> list[Unit]:
        """End the text: return all that is left, and start anew at position 0."""
        units: list[Unit] = []
        self._consider(self._scanner.end(), units)
        if any(not ch.isspace() for ch in self._text):
            units.append(self._cut_at(Break(self._position, Strength.LINE, self._scanner.spoken)))
        self._reset()
        return units

    def _take(self, ch: str, units: list[Unit]) -> None:
        while len(self._text) >= self._options.max_chars and (not ch.isspace() or self._text[-1].isspace()):
            units.append(self._cut_at(self._cap_cut()))
        self._position += 1
        if self._text or not ch.isspace():
            self._text.append(ch)
        self._consider(self._scanner.take(ch), units)

    def _consider(self, breaks: Iterable[Break], units: list[Unit]) -> None:
        for place in breaks:
            if place.position <= self._cut.position:
                continue
            self._latest[place.strength] = place
            if self._ends_unit(place):
                units.append(self._cut_at(place))

    def _ends_unit(self, place: Break) -> bool:
        if not self._speaks(place):
            return False
        match place.strength:
            case Strength.LINE:
                return True
            case Strength.SENTENCE:
                return self._is_first or self._has_length(place, self._options.min_chars)
            case Strength.CLAUSE:
                return self._is_first and self._has_length(place, self._options.first_min_chars)
            case _:
                return False

    def _speaks(self, place: Break) -> bool:
        return place.spoken > self._cut.spoken

    def _size(self, place: Break) -> int:
        """Characters that a unit up to `place` would have."""
        return len(self._text) - (self._position - place.position)

    def _has_length(self, place: Break, least: int) -> bool:
        size = self._size(place)
        return size >= least or speech_length("".join(self._text[:size])) >= least

    def _word_cut(self) -> Break | None:
        """Where to cut a late first unit."""
        place = self._latest.get(Strength.WORD)
        if place and self._is_first and self._speaks(place) and self._has_length(place, self._options.first_min_chars):
            return place
        return None

    def _cap_cut(self) -> Break:
        """Where to cut a unit that has grown to the cap: the best place in its second half, or the last one of all."""
        for strength in _BEST_FIRST:
            place = self._latest.get(strength)
            if place and self._size(place) * 2 >= self._options.max_chars:
                return place
        hard = Break(self._position, Strength.SPACE, self._scanner.spoken)
        return max(self._latest.values(), key=lambda place: place.position, default=hard)

    def _due(self, now: float) -> Break | None:
        """Where to cut because of the time."""
        if self._held and now >= self._held_at + self._delay_s:
            return self._held
        if self._first_at is not None and now >= self._first_at + self._delay_s:
            return self._held or self._word_cut()
        return None

    def _hold(self, now: float) -> None:
        """Note what would be cut if nothing more came, and since when it waits."""
        held = self._complete()
        if held and (self._held is None or held.position != self._held.position):
            self._held_at = now
        self._held = held

    def _complete(self) -> Break | None:
        guess = self._scanner.guess()
        least = Strength.CLAUSE if self._is_first else Strength.SENTENCE
        if guess and guess.strength >= least and guess.position > self._cut.position and self._speaks(guess):
            return guess
        short = self._latest.get(Strength.SENTENCE)
        return short if short and self._speaks(short) else None

    def _cut_at(self, place: Break) -> Unit:
        size = self._size(place)
        unit = Unit("".join(self._text[:size]).rstrip(), self._cut.position, place.position)
        del self._text[:size]
        while self._text and self._text[0].isspace():
            del self._text[0]
        self._latest = {s: b for s, b in self._latest.items() if b.position > place.position}
        self._cut, self._is_first, self._first_at = place, False, None
        return unit
