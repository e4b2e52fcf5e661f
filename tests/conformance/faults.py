"""Engine faults that a script asks for inside its text, understood by both sides of the comparison."""

import re
from dataclasses import dataclass

FAILURE = "the engine was asked to fail"

_FAIL = re.compile(r"\[\[fail:(\d+)]]")
_SLOW = re.compile(r"\[\[slow:(\d+)]]")


@dataclass(frozen=True, slots=True)
class Fault:
    """What goes wrong with a unit.

    Attributes:
        fail_at: the unit fails once this many samples were given; None lets it complete.
        delay_s: time that every step sleeps first.
    """

    fail_at: int | None = None
    delay_s: float = 0.0


def fault_of(text: str) -> Fault:
    """Read the faults from a unit's text: ``[[fail:SAMPLES]]`` and ``[[slow:MILLISECONDS]]``."""
    fail, slow = _FAIL.search(text), _SLOW.search(text)
    return Fault(
        fail_at=int(fail[1]) if fail else None,
        delay_s=int(slow[1]) / 1000 if slow else 0.0,
    )
