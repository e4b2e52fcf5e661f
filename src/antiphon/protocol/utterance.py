"""The counters of a session: which flush, which unit of it, and how much text waits in the splitter."""


class UtteranceCounter:
    """Numbers utterances and their units from 0.

    Attributes:
        utterance_index: flushes so far; a new config does not reset it.
        sentence_index: units of the current flush so far, those that failed included.
    """

    def __init__(self) -> None:
        self.utterance_index = 0
        self.sentence_index = 0
        self._fed_chars = 0
        self._split_chars = 0

    @property
    def buffered_chars(self) -> int:
        """Text that waits for a boundary or a flush."""
        return self._fed_chars - self._split_chars

    def feed(self, text: str) -> None:
        """Text goes to the splitter."""
        self._fed_chars += len(text)

    def take_unit(self, end: int) -> int:
        """A unit came that ends at `end` of the text since the last flush; returns its sentence index."""
        self._split_chars = end
        self.sentence_index += 1
        return self.sentence_index - 1

    def end_flush(self) -> None:
        """Every unit of the flush came."""
        self.utterance_index += 1
        self.sentence_index = self._fed_chars = self._split_chars = 0
