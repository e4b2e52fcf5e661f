"""Finding the places where a unit could end, one character at a time.

The scanner sees each character once, and its state depends on the characters alone: neither on how they were cut into
pieces nor on what was done about the breaks found so far.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from antiphon.text.abbreviations import LONGEST_STARTER, starts_sentence
from antiphon.text.boundaries import Ask, Run, Strength, Verdict, is_settled, judge, judge_within
from antiphon.text.characters import LINE_ENDS, MARKS, is_closer
from antiphon.text.tags import TagFilter

_LONGEST_WORD: Final = 48  # of a longer token only the marks matter
_SHORTEST_WRAPPED_LINE: Final = 40
_WRAPPED_LINE: Final = Verdict(Strength.LINE, Ask.NOT_LOWER)


@dataclass(frozen=True, slots=True)
class Break:
    """A place where a unit could end.

    Attributes:
        position: number of characters before it.
        strength: how good a place it is.
        spoken: number of letters and digits before it, tags aside.
    """

    position: int
    strength: Strength
    spoken: int


@dataclass(slots=True)
class _Doubt:
    """A break that the text to come decides about."""

    position: int
    spoken: int
    verdict: Verdict
    word: str = ""  # the next word so far, for `Ask.STARTER`

    def resolve(self, *, yes: bool) -> Break:
        return Break(self.position, self.verdict.strength if yes else self.verdict.otherwise, self.spoken)


@dataclass(slots=True)
class _Token:
    """Characters without whitespace between them: a word (as far as it matters) and the run at its end."""

    opens_line: bool
    word: list[str] = field(default_factory=list)
    run: Run = field(default_factory=Run)

    def add(self, ch: str) -> None:
        if len(self.word) < _LONGEST_WORD:
            self.word += [*self.run.text, ch]
        if self.run.text:
            self.run = Run()

    @property
    def known_word(self) -> str:
        return "".join(self.word)

    @property
    def verdict(self) -> Verdict:
        return judge(self.known_word, self.run, opens_line=self.opens_line)


class Scanner:
    """Reports breaks in text that arrives one character at a time.

    A break is reported as soon as it is certain: with the whitespace behind an ASCII mark, with the next character
    behind a mark of a script without spaces, with the next word behind an abbreviation that may end a sentence.

    Attributes:
        spoken: number of letters and digits taken so far, tags aside.
    """

    def __init__(self) -> None:
        self.spoken = 0
        self._position = 0
        self._tags = TagFilter()
        self._token: _Token | None = None
        self._doubt: _Doubt | None = None
        self._found: list[Break] = []
        self._last: Break | None = None
        self._line_start = 0
        self._line_end: int | None = None  # where the last token of this line ends

    def take(self, ch: str) -> Sequence[Break]:
        """Take one character; return the breaks that it makes certain, in the order of the text."""
        for plain, size in self._tags.take(ch):
            self._take_plain(plain, size)
        return self._report()

    def end(self) -> Sequence[Break]:
        """Return the breaks that become certain because nothing follows."""
        for plain, size in self._tags.release():
            self._take_plain(plain, size)
        self._end_next_word()
        return self._report()

    def guess(self) -> Break | None:
        """Return the break at the end of the text taken so far, supposing that it goes on no further for now."""
        if self._tags.holding:
            return None
        if self._token:
            return self._guess_in(self._token)
        return self._doubt.resolve(yes=True) if self._doubt else self._last

    def _guess_in(self, token: _Token) -> Break | None:
        if not is_settled(token.known_word, token.run):
            return None
        verdict = token.verdict
        if verdict.ask in {Ask.STARTER, Ask.NOT_DIGIT}:
            return None
        return Break(self._position, verdict.strength, self.spoken)

    def _report(self) -> Sequence[Break]:
        if not self._found:
            return ()
        found, self._found = self._found, []
        self._last = found[-1]
        return found

    def _find(self, strength: Strength, position: int | None = None) -> None:
        self._found.append(Break(self._position if position is None else position, strength, self.spoken))

    def _take_plain(self, ch: str, size: int) -> None:
        if not ch.isspace():
            self._take_visible(ch)
        else:
            self._end_next_word()
            self._end_token()
            if ch in LINE_ENDS:
                self._end_line()
        self._position += size

    def _take_visible(self, ch: str) -> None:
        self._answer(ch)
        token = self._token = self._token or _Token(opens_line=self._line_end is None)
        if ch in MARKS or is_closer(ch):
            token.run.add(ch)
            return
        if token.run.text:
            token = self._token = self._leave_run(token, ch)
        token.add(ch)
        self.spoken += ch.isalnum()

    def _leave_run(self, token: _Token, ch: str) -> _Token:
        """Return the token that `ch`, which follows the run of `token`, belongs to."""
        strength = judge_within(token.run, before="".join(token.word[-1:]), after=ch)
        if strength is None:
            return token
        self._find(strength)
        return _Token(opens_line=False)

    def _end_token(self) -> None:
        if not self._token:
            return
        verdict = self._token.verdict
        if verdict.ask:
            self._doubt = _Doubt(self._position, self.spoken, verdict)
        else:
            self._find(verdict.strength)
        self._token, self._line_end = None, self._position

    def _end_line(self) -> None:
        """Let the line end a unit, unless it looks like one of a paragraph wrapped at a column.

        That is a line of some length, when the next one begins with a small letter.
        """
        start, self._line_start = self._line_start, self._position + 1
        end, self._line_end = self._line_end, None
        if end is None:  # an empty line: the text cannot go on
            self._resolve(yes=True)
            return
        if not self._doubt and end - start >= _SHORTEST_WRAPPED_LINE:
            self._doubt = _Doubt(end, self.spoken, _WRAPPED_LINE)
        else:
            self._doubt = None
            self._find(Strength.LINE, end)

    # Doubt: a break that depends on what follows it.

    def _answer(self, ch: str) -> None:
        doubt = self._doubt
        if not doubt:
            return
        match doubt.verdict.ask:
            case Ask.NOT_LOWER:
                self._resolve(yes=not ch.islower())
            case Ask.NOT_DIGIT:
                self._resolve(yes=not ch.isdigit())
            case _ if ch.isalpha() and len(doubt.word) < LONGEST_STARTER:
                doubt.word += ch
            case _:
                self._resolve(yes=starts_sentence(doubt.word))

    def _end_next_word(self) -> None:
        if self._doubt and self._doubt.word:
            self._resolve(yes=starts_sentence(self._doubt.word))

    def _resolve(self, *, yes: bool) -> None:
        if self._doubt:
            self._found.append(self._doubt.resolve(yes=yes))
            self._doubt = None
