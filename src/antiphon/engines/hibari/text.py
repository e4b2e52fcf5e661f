"""From a unit's text to pieces that the model can take at once."""

import re
import unicodedata
from collections.abc import Iterator

MAX_CHARACTERS = 600  # per sentence given to the G2P, which cannot be interrupted
MAX_PHONEMES = 400  # per graph run, as the package itself allows

# Where to cut what is too long, best first: after a sentence, after a clause, between words.
_TEXT_CUTS = (re.compile(r"[.!?…][\"”’)\]]*\s+"), re.compile(r"[,;:—]\s+"), re.compile(r"\s+"))
_PHONEME_CUTS = (re.compile(r"[.!?…,;:—]\s+"), re.compile(r"\s+"))
_COMPATIBILITY = re.compile(r"[\u2074-\u2089\u2460-\u24ff\u2776-\u2793\uff01-\uff5e\U0001f100-\U0001f10a]")
_LONG_NUMBER = re.compile(r"\d[\d,]{15,}")
_SILENT = frozenset(' .,;:!?…—"“”()ˈˌ')


def plain(text: str) -> str:
    """Return `text` as the G2P can read it.

    Full-width and circled characters become the usual ones; a number too long for a name is read digit by digit.
    """
    if not text.isascii():
        text = _COMPATIBILITY.sub(lambda match: unicodedata.normalize("NFKC", match[0]), text)
    return _LONG_NUMBER.sub(lambda match: " ".join(match[0].replace(",", "")), text)


def blocks(text: str) -> Iterator[str]:
    """Yield `text` in blocks of at most `MAX_CHARACTERS`, cut where it hurts least."""
    return _pieces(text, MAX_CHARACTERS, _TEXT_CUTS)


def phoneme_runs(phonemes: str) -> Iterator[str]:
    """Yield a sentence's phonemes in runs of at most `MAX_PHONEMES`; nothing for what makes no sound."""
    return (run for run in _pieces(phonemes, MAX_PHONEMES, _PHONEME_CUTS) if not _SILENT.issuperset(run))


def _pieces(text: str, limit: int, cuts: tuple[re.Pattern[str], ...]) -> Iterator[str]:
    start = 0
    while len(text) - start > limit:
        stop = _cut(text, start, start + limit, cuts)
        yield text[start:stop]
        start = stop
    if start < len(text):
        yield text[start:]


def _cut(text: str, start: int, stop: int, cuts: tuple[re.Pattern[str], ...]) -> int:
    for cut in cuts:
        ends = [match.end() for match in cut.finditer(text, start, stop)]
        if ends:
            return ends[-1]
    return stop


def unreadable_script(text: str) -> str | None:
    """Return the name of the script, such as ``CJK``, that outweighs the Latin letters of `text`; None if none does.

    The G2P reads Latin letters and digits. What it cannot read it skips or garbles, which a single foreign word in
    a sentence survives and a sentence in another script does not.
    """
    if text.isascii():
        return None
    scripts = [unicodedata.name(letter, "UNNAMED").split()[0] for letter in text if letter.isalpha()]
    foreign = [script for script in scripts if script not in _READABLE]
    if len(foreign) * 2 <= len(scripts):
        return None
    return max(sorted(set(foreign)), key=foreign.count)


_READABLE = frozenset({"LATIN", "FEMININE", "MASCULINE", "MICRO", "MODIFIER"})
