"""What a scheduler has done and is doing, as numbers for metrics and tests."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SchedulerStatistics:
    """A snapshot.

    Attributes:
        speaking: listeners with unfinished jobs.
        max_speaking: how many are admitted.
        ready: jobs that wait for a worker.
        stepping: steps in progress.
        steps: steps started since the start.
        units_complete, units_failed, units_closed: how jobs ended.
        refused: units refused for lack of capacity.
        audio_s: seconds of audio synthesised.
        synthesis_s: seconds that steps took, wall clock, summed over workers.
    """

    speaking: int
    max_speaking: int
    ready: int
    stepping: int
    steps: int
    units_complete: int
    units_failed: int
    units_closed: int
    refused: int
    audio_s: float
    synthesis_s: float
