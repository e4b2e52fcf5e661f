"""Which unit synthesises next, how far ahead of playback, and for how many listeners. The only place that paces."""

from antiphon.scheduling.job import Job
from antiphon.scheduling.listener import Listener
from antiphon.scheduling.pace import Pace
from antiphon.scheduling.policy import EarliestDeadline, Fifo, Policy
from antiphon.scheduling.scheduler import CapacityError, Scheduler
from antiphon.scheduling.speak import speak
from antiphon.scheduling.statistics import SchedulerStatistics

__all__ = [
    "CapacityError",
    "EarliestDeadline",
    "Fifo",
    "Job",
    "Listener",
    "Pace",
    "Policy",
    "Scheduler",
    "SchedulerStatistics",
    "speak",
]
