"""The unit: what is spoken in one synthesis, and the input that it covers."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Unit:
    """A piece of text to synthesise as a whole.

    The spans of successive units tile the input since the last flush: the first starts at 0, each one starts
    where the one before it ended, and after a flush the last one ends at the end of the input. Whitespace between
    two units belongs to the second one. Whitespace after a unit that has already been handed out belongs to the unit
    that follows, and to none if nothing but whitespace follows: there is no unit without text.

    Attributes:
        text: what is spoken: the covered input without surrounding whitespace, never empty.
        start: first code point of the covered input.
        end: one past its last code point.
    """

    text: str
    start: int
    end: int

    @property
    def speakable(self) -> bool:
        """Whether there is a letter or a digit in it; a lone emoji or a row of dashes has nothing to say."""
        return any(ch.isalnum() for ch in self.text)
