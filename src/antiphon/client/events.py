"""What an utterance tells its listener, in order: units, each with its audio, and the end.

Each unit is either started, heard and done, or skipped: `UnitStarted`, any number of `Audio`, `UnitDone`; or
`UnitSkipped` alone. Units come in the order in which they were written, then `Finished`. An utterance that fails ends
with an exception instead.
"""

from dataclasses import dataclass

from antiphon.client.statistics import Statistics


@dataclass(frozen=True, slots=True)
class UnitStarted:
    """A unit begins to be spoken.

    Attributes:
        index: counts the units of the utterance, from 0.
        text: what is spoken.
        start: where the unit begins in what was written to the utterance, in code points.
        end: where it ends there.
        sample_rate: samples per second of its audio.
    """

    index: int
    text: str
    start: int
    end: int
    sample_rate: int


@dataclass(frozen=True, slots=True)
class Audio:
    """A chunk of audio of the unit that started last.

    Attributes:
        data: s16le mono samples, a whole number of them, at least one.
        sample_rate: samples per second.
        unit: index of the unit.
    """

    data: bytes
    sample_rate: int
    unit: int


@dataclass(frozen=True, slots=True)
class UnitDone:
    """All audio of a unit has been given.

    Attributes:
        index: of the unit.
        start: as in `UnitStarted`.
        end: as in `UnitStarted`.
        busy_s: how long the server worked on it, as seen from here.
    """

    index: int
    start: int
    end: int
    busy_s: float


@dataclass(frozen=True, slots=True)
class UnitSkipped:
    """The server found nothing to say in a unit, such as punctuation alone; it is no error, and there is no audio.

    Attributes:
        index: as in `UnitStarted`.
        text: as in `UnitStarted`.
        start: as in `UnitStarted`.
        end: as in `UnitStarted`.
    """

    index: int
    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Finished:
    """The utterance is complete; the last event."""

    statistics: Statistics


type Event = UnitStarted | Audio | UnitDone | UnitSkipped | Finished
