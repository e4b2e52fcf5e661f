"""From a unit's text to pieces that the model can take at once."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator

MAX_CHARACTERS = 600  # per sentence
MAX_PHONEMES = 400  # per graph run, as the package itself allows
MAX_COST = 5000  # per call of the G2P, which nothing can interrupt; a unit is 12 µs of a slow core
MAX_ATOMS = 24  # per word: the G2P tries every stretch of them, so a word of n costs n squared to n cubed

# Where to cut what is too long, best first: after a sentence, after a clause, between words.
_TEXT_CUTS = (re.compile(r"[.!?…][\"”’)\]]*\s+"), re.compile(r"[,;:—]\s+"), re.compile(r"\s+"))
_PHONEME_CUTS = (re.compile(r"[.!?…,;:—]\s+"), re.compile(r"\s+"))
_COMPATIBILITY = re.compile(r"[\u2074-\u2089\u2460-\u24ff\u2776-\u2793\uff01-\uff5e\U0001f100-\U0001f10a]")
_LONG_NUMBER = re.compile(r"\d[\d,]{15,}")
_LONG_WORD = re.compile(r"[^\W\d_]{46,}")  # longer than any in the dictionary
_WORD_PART = re.compile(r".{1,24}")  # letters that the network for other words reads of one
_SILENT = frozenset(' .,;:!?…—"“”()ˈˌ')

# What may be read aloud; everything else only shapes how its neighbours are said.
_SOUND = re.compile(
    r"[^\W_]|[#%&+/<=>@^~¢§©°±¶×÷→]"
    r"|[\u207a-\u208c\u2100-\u214f\u2460-\u24ff\u3200-\u33ff\ufb29\ufe50-\ufe6f\uff01-\uff5e\U0001f100-\U0001f1e5]"
)
_RUN = re.compile(r"([\W_])\1{8,}")  # of one sign: no more is heard of it than of a few

_UPPER = "A-ZÀ-ÖØ-Þ"
_ATOM = rf"[{_UPPER}]*[^\W\d_{_UPPER}]+|[{_UPPER}]+|\d+|[\W_]"
_ATOMS = re.compile(_ATOM)
_ATOM_COST = 32  # a letter run that is in no dictionary is one run of a network
_PARTS = re.compile(rf"(?:{_ATOM}){{1,{MAX_ATOMS}}}")


def plain(text: str) -> str:
    """Return `text` as the G2P can read it.

    Full-width and circled characters become the usual ones; a number too long for a name is read digit by digit, and
    letters that are no word a few at a time.
    """
    if not text.isascii():
        text = _COMPATIBILITY.sub(lambda match: unicodedata.normalize("NFKC", match[0]), text)
    text = _LONG_WORD.sub(lambda match: " ".join(_WORD_PART.findall(match[0])), text)
    return _LONG_NUMBER.sub(lambda match: " ".join(match[0].replace(",", "")), text)


def sounds(text: str) -> bool:
    """Whether there may be anything to say in `text`."""
    return _SOUND.search(text) is not None


def blocks(text: str) -> Iterator[str]:
    """Yield what sounds of `text` in blocks, cut where it hurts least.

    A block has at most `MAX_CHARACTERS`, of which a run of one sign counts as one. It is shortened to three.
    """
    start = 0
    while sound := _SOUND.search(text, start):
        start = max(start, sound.start() - MAX_CHARACTERS // 2)
        stop = _end(text, start, MAX_CHARACTERS, _TEXT_CUTS)
        if run := _RUN.match(text, stop - 1):
            stop = run.end()
        yield _RUN.sub(r"\1\1\1", text[start:stop])
        start = stop


def pieces(sentence: str) -> Iterator[str]:
    """Yield `sentence` in pieces that the G2P reads in bounded time, at least one.

    An ordinary sentence is one piece. A word of more than `MAX_ATOMS` letter runs, digit runs and signs is cut.

    Args:
        sentence: as `plain` and the package's normalisation leave it.
    """
    piece: list[str] = []
    spent = 0
    for word in _words(sentence):
        cost = _cost(word)
        if piece and spent + cost > MAX_COST:
            yield " ".join(piece)
            piece, spent = [], 0
        piece.append(word)
        spent += cost
    yield " ".join(piece)


def _words(sentence: str) -> Iterator[str]:
    for word in sentence.split():
        yield from _PARTS.findall(word)


def _cost(word: str) -> int:
    atoms: list[str] = _ATOMS.findall(word)
    spoken = sum(atom[0].isalnum() for atom in atoms)
    return _ATOM_COST * max(1, spoken) + len(atoms) * len(atoms)


def phoneme_runs(phonemes: str) -> Iterator[str]:
    """Yield a sentence's phonemes in runs of at most `MAX_PHONEMES`; nothing for what makes no sound."""
    start = 0
    while start < len(phonemes):
        stop = _end(phonemes, start, MAX_PHONEMES, _PHONEME_CUTS)
        run = phonemes[start:stop]
        if not _SILENT.issuperset(run):
            yield run
        start = stop


def _end(text: str, start: int, limit: int, cuts: tuple[re.Pattern[str], ...]) -> int:
    """Where a part of `text` that begins at `start` ends, after at most `limit` characters."""
    if len(text) - start <= limit:
        return len(text)
    for cut in cuts:
        ends = [match.end() for match in cut.finditer(text, start, start + limit)]
        if ends:
            return ends[-1]
    return start + limit


def unreadable_script(text: str) -> str | None:
    """Return the name of the script, such as ``CJK``, that outweighs the Latin letters of `text`; None if none does.

    The G2P reads Latin letters and digits. What it cannot read it skips or garbles, which a single foreign word in
    a sentence survives and a sentence in another script does not. A long text is judged by its beginning.
    """
    if text.isascii():
        return None
    scripts: Counter[str] = Counter()
    for letter, count in Counter(text[:_JUDGED]).items():
        if letter.isalpha():
            scripts[unicodedata.name(letter, "UNNAMED").split()[0]] += count
    foreign = {script: count for script, count in scripts.items() if script not in _READABLE}
    if sum(foreign.values()) * 2 <= scripts.total():
        return None
    return max(sorted(foreign), key=lambda script: foreign[script])


_JUDGED = 10_000  # characters
_READABLE = frozenset({"LATIN", "FEMININE", "MASCULINE", "MICRO", "MODIFIER"})
