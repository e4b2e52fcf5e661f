"""Where the splitter ends a unit, in each granularity, however the text is cut into messages."""

from collections.abc import Iterator

from tests.conformance.script import DONE, DONE_ANSWERED, Script, Step, pcm, script, texts

_TEXTS = {
    "hello": "Hello world. ",
    "no white space follows": "Hello world.",
    "Chinese": "你好。世界",
    "a run of punctuation": 'Wait... what?! "Yes." Done',
    "clauses and a thousand": "One, two, 1,000; three",
    "a stop inside a word": "Go.No space",
    "only dots": "...",
    "only dots and a space": "... ",
    "decimals": "Pi is 3.14 and e is 2.71. Both go on. ",
    "a number ends it": "It was 1999. Then came 2000.",
    "titles": "Dr. Who met Mrs. Smith and Prof. Y. They talked. ",
    "initials": "J. R. R. Tolkien wrote it. Yes. ",
    "dotted abbreviations": "At 5 p.m. in the U.S. it rains, e.g. today, i.e. now. Right? ",
    "capital abbreviations": "See FIG. 3 and NO. 4 vs. ETC. there. End. ",
    "company": "Acme Inc. and Co. Ltd. et al. agree. End. ",
    "not an abbreviation": "Say yes. And dog. Or indexed e.gg. End. ",
    "a new line is no stop": "One line\nand another\n\nand a third",
    "a stop at the end of a line": "One line.\nAnother line.\r\nA third.",
    "script stops close at once": "本当？！はい。いいえ！では…",
    "ASCII stops in Chinese": "好.吗?对! 是",
    "full-width clauses": "一，二；三。四",
    "Hindi": "नमस्ते। आप कैसे हैं॥ ठीक",
    "Arabic": "كيف حالك؟ بخير، شكرا؛ وداعا",
    "closers": "(He left.) [Really?] {Yes!} «Non.» 「はい。」『え？』 （好。） 】x",
    "apostrophes": "'Quoted.' ’Odd.’ “Fine.” Rest",
    "ellipsis sign": "Well… maybe… yes. No",
    "versions and addresses": "Use 1.2.3 at www.example.com or a@b.co. Then go. ",
    "commas without spaces": "a,b,c; d,e",
    "a comma in a run": "What?, he said. Yes,. no",
    "a stop after emoji": "Nice 🦜. Bye 🦜! ",
    "spaces before stops": "What ? No ! Why . ",
    "leading stops": ". ! ? Start. ",
    "many spaces": "One.    Two.\t\tThree.  ",
    "white space of Unicode": "One.\u00a0Two.\u3000Three.\u200bFour. ",
    "Indic decimals": "१.५ और ٣.٥ है। ठीक",
}
_MAX_CHUNK = 7


def _whole(value: str) -> Iterator[str]:
    yield value


def _letters(value: str) -> Iterator[str]:
    yield from value


def _odd(value: str) -> Iterator[str]:
    """Cut into pieces of 1, 2, … 7, 1, … characters."""
    start, size = 0, 1
    while start < len(value):
        yield value[start : start + size]
        start, size = start + size, size % _MAX_CHUNK + 1


_CUTS = {"whole": _whole, "by letters": _letters, "in odd pieces": _odd}


def _steps(granularity: str, pieces: Iterator[str]) -> tuple[Step, ...]:
    return (pcm(split_granularity=granularity), *texts(*pieces), DONE, DONE_ANSWERED)


SCRIPTS: tuple[Script, ...] = tuple(
    script(f"{granularity}, {cut}: {name}", *_steps(granularity, pieces(value)))
    for granularity in ("sentence", "clause", "none")
    for cut, pieces in _CUTS.items()
    for name, value in _TEXTS.items()
)
