"""How often a peer may do what costs it nothing."""

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
