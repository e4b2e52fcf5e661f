"""vLLM-Omni's own splitter, for the stock dialects.

Its behaviour is part of the wire protocol of vLLM-Omni 0.30 (`split_granularity` of `/v1/audio/speech/stream`): the
marks, the abbreviations and the places where they count are facts of that server, oddities included. What is
different is the cost: one pass, linear in the text, however small the pieces it arrives in.
"""

from typing import Final, Literal, get_args

from antiphon.text.units import Unit

Granularity = Literal["none", "sentence", "clause"]

_SCRIPT_STOPS: Final = frozenset("。！？…।॥؟")
_SCRIPT_CLAUSES: Final = frozenset("，；،؛")
_STOPS: Final = frozenset(".!?") | _SCRIPT_STOPS
_CLAUSES: Final = frozenset(",;") | _SCRIPT_CLAUSES
_SCRIPT_MARKS: Final = _SCRIPT_STOPS | _SCRIPT_CLAUSES
_CLOSERS: Final = frozenset("\"'”’»)]}』」）】")
_RUN: Final = _STOPS | _CLAUSES | _CLOSERS
_MARKS: Final[dict[Granularity, frozenset[str]]] = {
    "none": frozenset(),
    "sentence": _STOPS,
    "clause": _STOPS | _CLAUSES,
}
_ABBREVIATIONS: Final = frozenset(
    "dr mr mrs ms prof sr jr st mt fig no vs etc approx dept inc ltd co al e.g i.e u.s u.k a.m p.m".split()  # noqa: SIM905  # one line to read
)
_LONGEST_ABBREVIATION: Final = max(map(len, _ABBREVIATIONS))


class StockSplitter:
    """Splits text exactly as vLLM-Omni 0.30 does.

    A mark ends a unit together with the marks and closers that follow it directly. An ASCII mark does so only before
    whitespace or at the flush; a mark of another script as soon as the next character is known. Newlines are plain
    whitespace.

    As on that server, a stop counts as the end of an abbreviation or of an initial by what precedes it in the
    *unsent text of the same call*, so a few odd strings split differently when they arrive in other pieces.

    Args:
        granularity: `none` keeps everything for the flush.

    Raises:
        ValueError: for any other granularity.
    """

    def __init__(self, granularity: Granularity = "none") -> None:
        if granularity not in get_args(Granularity):
            raise ValueError(f"Unsupported split_granularity: {granularity!r}")
        self._marks = _MARKS[granularity]
        self._reset()

    def feed(self, text: str) -> list[Unit]:
        """Take the next piece of text, of any size; return the units it completes."""
        return self._call(text)

    def flush(self) -> list[Unit]:
        """End the text: return what is left as units, and start anew at position 0."""
        units = self._call("")
        if self._run_at is not None:
            self._emit(units, len(self._pending))
        self._emit(units, len(self._pending))
        self._reset()
        return units

    def _reset(self) -> None:
        self._start = 0  # position of the first pending character
        self._pending: list[str] = []
        self._seen_before = ""  # the end of what this call has already split off
        self._run_at: int | None = None  # where in `_pending` a mark waits for the end of its run

    def _call(self, text: str) -> list[Unit]:
        """One call on the server's buffer: what earlier calls split off is out of sight from here on."""
        again = ""
        if self._seen_before:
            self._seen_before = ""
            if self._run_at is not None:
                again = "".join(self._pending[self._run_at :])
                del self._pending[self._run_at :]
                self._run_at = None
        units: list[Unit] = []
        if not self._marks:
            self._pending.append(text)
            return units
        for ch in again + text:
            self._step(units, ch)
        return units

    def _step(self, units: list[Unit], ch: str) -> None:
        if self._run_at is not None and ch not in _RUN:
            if ch.isspace() or self._pending[self._run_at] in _SCRIPT_MARKS:
                self._emit(units, len(self._pending))
            self._run_at = None
        if self._run_at is None and ch in self._marks and not (ch == "." and self._after_abbreviation()):
            self._run_at = len(self._pending)
        self._pending.append(ch)

    def _emit(self, units: list[Unit], size: int) -> None:
        covered = "".join(self._pending[:size])
        if text := covered.strip():
            end = self._start + len(covered)
            units.append(Unit(text, self._start, end))
            self._start = end
            self._seen_before = (self._seen_before + covered)[-_LONGEST_ABBREVIATION - 1 :]
            del self._pending[:size]

    def _after_abbreviation(self) -> bool:
        """Whether the text so far ends in an abbreviation or a single letter."""
        reach = _LONGEST_ABBREVIATION + 1
        before = self._seen_before + "".join(self._pending[-reach:])
        size = 0
        while size < min(reach, len(before)) and (before[-size - 1].isalnum() or before[-size - 1] == "."):
            size += 1
        if not 0 < size < reach:
            return False
        word = before[-size:]
        return word.lower().strip(".") in _ABBREVIATIONS or (size == 1 and word.isalpha())
