"""Judging the end of one token: does a unit end here, and what must be known to tell?"""

from dataclasses import dataclass
from enum import Enum, IntEnum, auto
from typing import Final

from antiphon.text import abbreviations
from antiphon.text.characters import MARKS, Mark, after_wide, is_wide

_LONGEST_LIST_NUMBER: Final = 3
_QUOTING: Final = frozenset("とっ")  # Japanese: what was just quoted is part of this sentence
_LONGEST_RUN_IN_WORD: Final = 4


class Strength(IntEnum):
    """How good a place is for the end of a unit."""

    SPACE = 0  # whitespace that separates what belongs together, such as `Dr.` and the name
    WORD = 1
    CLAUSE = 2
    SENTENCE = 3
    LINE = 4


class Ask(Enum):
    """What the text after a doubtful end must be for it to be one."""

    NOT_LOWER = auto()  # anything but a small letter
    NOT_DIGIT = auto()
    STARTER = auto()  # a word that begins sentences


@dataclass(frozen=True, slots=True)
class Verdict:
    """The strength of an end; if there is a question, when the answer is yes and when it is no."""

    strength: Strength
    ask: Ask | None = None
    otherwise: Strength = Strength.WORD


@dataclass(slots=True)
class Run:
    """The marks and closers at the end of a token.

    Attributes:
        mark: the mark that decides, if there is one.
        closed: whether a closer follows that mark.
        text: its first characters, which are part of the word if the token goes on.
    """

    mark: Mark | None = None
    closed: bool = False
    text: str = ""

    def add(self, ch: str) -> None:
        """Add a mark or a closer."""
        if len(self.text) < _LONGEST_RUN_IN_WORD:
            self.text += ch
        mark = MARKS.get(ch)
        if mark is None:
            self.closed = self.mark is not None
            return
        if self.mark in {Mark.DOT, Mark.ELLIPSIS} and mark is Mark.DOT:
            mark = Mark.ELLIPSIS
        # A comma behind a stop takes its end away: `etc.,` and `"What?", he said`.
        if mark <= Mark.PAUSE or self.mark is None or mark > self.mark:
            self.mark, self.closed = mark, False


_PLAIN: Final = Verdict(Strength.WORD)
_GLUE: Final = Verdict(Strength.SPACE)
_SENTENCE: Final = Verdict(Strength.SENTENCE)
_SENTENCE_UNLESS_LOWER: Final = Verdict(Strength.SENTENCE, Ask.NOT_LOWER)
_SENTENCE_UNLESS_DIGIT: Final = Verdict(Strength.SENTENCE, Ask.NOT_DIGIT, Strength.SPACE)
_SENTENCE_IF_STARTER: Final = Verdict(Strength.SENTENCE, Ask.STARTER, Strength.SPACE)
_TRAILS_OFF: Final = Verdict(Strength.SENTENCE, Ask.NOT_LOWER, Strength.CLAUSE)
_CLAUSE: Final = Verdict(Strength.CLAUSE)
_CLAUSE_UNLESS_DIGIT: Final = Verdict(Strength.CLAUSE, Ask.NOT_DIGIT, Strength.SPACE)


def judge(word: str, run: Run, *, opens_line: bool) -> Verdict:
    """Judge a token that whitespace follows.

    Args:
        word: the token without its run; empty for a token too long to matter.
        run: the marks and closers at its end.
        opens_line: whether it is the first token of its line.
    """
    match run.mark:
        case None:
            return _PLAIN
        case Mark.COMMA | Mark.PAUSE:
            return _CLAUSE_UNLESS_DIGIT if word[-1:].isdigit() else _CLAUSE
        case Mark.ELLIPSIS:
            return _TRAILS_OFF
        case Mark.DOT:
            return _judge_dot(word, run, opens_line=opens_line)
        case Mark.BANG:
            return _SENTENCE_UNLESS_LOWER if run.closed else _SENTENCE
        case Mark.STOP:
            return _SENTENCE


def _judge_dot(word: str, run: Run, *, opens_line: bool) -> Verdict:
    core = after_wide(word).lstrip("\"'“‘«‹([{¿¡*_~`#-–—/\ufffc")
    known = core.lower()
    letter = len(core) == 1 and core.isalpha()
    if opens_line and (letter or (core.isdigit() and len(core) <= _LONGEST_LIST_NUMBER)):
        return _GLUE  # the number of a list item
    if known in abbreviations.INTRODUCING:
        return _GLUE
    if known in abbreviations.NUMBERING:
        return _SENTENCE_UNLESS_DIGIT
    if known == "etc":
        return _TRAILS_OFF
    if letter or known in abbreviations.CLOSING or abbreviations.is_dotted(core):
        return _SENTENCE_IF_STARTER
    return _SENTENCE_UNLESS_LOWER if run.closed else _SENTENCE


def judge_within(run: Run, before: str, after: str) -> Strength | None:
    """Judge a run that no whitespace follows, between the characters `before` and `after`."""
    wide = is_wide(after)
    match run.mark:
        case Mark.STOP:
            return Strength.CLAUSE if run.closed and after in _QUOTING else Strength.SENTENCE
        case Mark.BANG if wide:
            return Strength.SENTENCE
        case Mark.ELLIPSIS if wide:
            return Strength.CLAUSE
        case Mark.PAUSE if not (before.isdigit() and after.isdigit()):
            return Strength.CLAUSE
        case _:
            return None


def is_settled(word: str, run: Run) -> bool:
    """Whether the run may be taken for complete when the text stops coming right behind it.

    `$3.` may go on to be `$3.14`, and `www.example.` to be an address. A stop behind a plain word is the one guess that
    is worth it: a language model that calls a tool stops there, and the sentence would wait for the tool.
    """
    if run.mark is None or run.mark >= Mark.ELLIPSIS or run.closed:
        return run.mark is not None
    return not (word[-1:].isdigit() or any(ch in "./@:\\" for ch in word))
