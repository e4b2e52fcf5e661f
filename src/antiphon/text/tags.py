"""Markup tags, taken as one character each, so that nothing inside one ends a unit."""

from collections.abc import Sequence
from typing import Final

from antiphon.text.characters import LINE_ENDS, TAG

_LONGEST_TAG: Final = 120


class TagFilter:
    """Replaces each tag (`<speed ratio="1.05"/>`, `</b>`, `<!-- -->`) by `TAG` and passes on the rest.

    A `<` that is not followed at once by what a tag starts with, or by a `>` on the same line within 120 characters, is
    plain text.
    """

    def __init__(self) -> None:
        self._held: list[str] = []

    @property
    def holding(self) -> bool:
        """Whether characters are held back because they may become a tag."""
        return bool(self._held)

    def take(self, ch: str) -> Sequence[tuple[str, int]]:
        """Take one character; return those that are ready, each with the number of characters it stands for."""
        if not self._held:
            if ch != "<":
                return ((ch, 1),)
            self._held.append(ch)
            return ()
        if not self._goes_on(ch):
            return [*self.release(), *self.take(ch)]
        self._held.append(ch)
        if ch != ">":
            return ()
        size = len(self._held)
        self._held.clear()
        return ((TAG, size),)

    def release(self) -> Sequence[tuple[str, int]]:
        """Give up waiting for a tag: return what is held back, as plain text."""
        held, self._held = self._held, []
        return [(ch, 1) for ch in held]

    def _goes_on(self, ch: str) -> bool:
        if len(self._held) == 1:
            return ch in "/!?" or (ch.isascii() and ch.isalpha())
        return ch != "<" and ch not in LINE_ENDS and len(self._held) < _LONGEST_TAG
