"""What single characters mean for the end of a unit."""

import re
import unicodedata
from enum import IntEnum
from typing import Final


class Mark(IntEnum):
    """Kinds of punctuation, weakest first: in a run such as `?...` the strongest one decides."""

    COMMA = 0  # a pause, when whitespace follows
    PAUSE = 1  # a pause whatever follows: scripts without spaces, and the em dash
    DOT = 2  # a stop, an abbreviation, a decimal point...
    ELLIPSIS = 3  # trails off: a stop or a pause
    BANG = 4  # a stop, when whitespace (or a script without spaces) follows
    STOP = 5  # a stop whatever follows


_CHARACTERS: Final = {
    Mark.COMMA: ",;:–",
    Mark.PAUSE: "，、；：،؛—―",
    Mark.DOT: ".",
    Mark.ELLIPSIS: "…⋯",
    Mark.BANG: "!?‼⁇⁈⁉‽",
    Mark.STOP: "。！？｡।॥؟۔։።။។",
}
MARKS: Final = {ch: mark for mark, characters in _CHARACTERS.items() for ch in characters}
LINE_ENDS: Final = frozenset("\n\v\f\x85\u2028\u2029")
TAG: Final = "\ufffc"  # stands for a whole markup tag

_CLOSERS: Final = frozenset("\"'”’»›)]}）］｝】』」》〉〗〙*_~`" + TAG)
_SYMBOLS: Final = frozenset({"So", "Sk", "Cf"})  # emoji, their skin tones and joiners among others
_VARIATION_SELECTOR: Final = "\ufe0f"

# Scripts whose words are not separated by spaces, and Hangul, whose syllables take as long to say.
_WIDE: Final = re.compile(
    "[\u1100-\u11ff\u2e80-\ua4cf\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]"
)
_LENGTH_OF_WIDE: Final = 3


def is_closer(ch: str) -> bool:
    """Whether `ch` belongs to the stop before it: closing quotes, brackets and emphasis, emoji, tags."""
    return ch in _CLOSERS or ch == _VARIATION_SELECTOR or (ch > "\x7f" and unicodedata.category(ch) in _SYMBOLS)


def is_wide(ch: str) -> bool:
    """Whether `ch` is a letter of a script that is written without spaces, or of Hangul."""
    return _WIDE.match(ch) is not None and ch.isalnum()


def after_wide(word: str) -> str:
    """Return the end of `word` that follows its last wide character: the `J.K` of `作者是J.K`."""
    return _WIDE.split(word)[-1]


def speech_length(text: str) -> int:
    """Length of `text` in letters of an alphabet; an ideograph or a syllable takes about three times as long to say."""
    return len(text) + (_LENGTH_OF_WIDE - 1) * sum(map(is_wide, text))
