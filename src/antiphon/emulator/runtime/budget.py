"""How much peers may have: of what costs them nothing, and of memory."""

from dataclasses import dataclass


@dataclass(slots=True)
class Budget:
    """A token bucket; time is an argument.

    Attributes:
        capacity: How many may come at once.
        per_s: How many more may come each second.
    """

    capacity: float
    per_s: float
    _spent: float = 0.0
    _at: float = 0.0

    def spend(self, now: float) -> bool:
        """Take one; whether there was one left."""
        self._spent = max(0.0, self._spent - (now - self._at) * self.per_s) + 1
        self._at = now
        return self._spent <= self.capacity


@dataclass(slots=True)
class Room:
    """Memory that many share.

    Attributes:
        capacity: How many bytes they may have together.
    """

    capacity: int
    _taken: int = 0

    def change(self, difference: int) -> bool:
        """Take more, or give some back; whether all is within the capacity then."""
        self._taken += difference
        return self._taken <= self.capacity
