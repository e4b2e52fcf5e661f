"""Which job steps next. A policy orders; it does not know engines, threads or listeners' sockets."""

from collections import OrderedDict
from typing import Protocol

from antiphon.scheduling.job import Job


class Policy(Protocol):
    """A queue of jobs that may step now."""

    def push(self, job: Job, now: float) -> None:
        """Add a job that became able to step."""
        ...

    def pop(self, now: float) -> Job | None:
        """Remove and return the job to step next, or None when there is none."""
        ...

    def discard(self, job: Job) -> None:
        """Remove a job that was closed, if it is there."""
        ...

    def __len__(self) -> int: ...


class Fifo:
    """First come, first served, one step at a time: a job that has stepped goes to the back."""

    def __init__(self) -> None:
        self._jobs: OrderedDict[Job, None] = OrderedDict()

    def push(self, job: Job, now: float) -> None:  # noqa: ARG002 - time does not matter here
        """Add a job at the back."""
        self._jobs[job] = None

    def pop(self, now: float) -> Job | None:  # noqa: ARG002 - time does not matter here
        """Return the job at the front."""
        return self._jobs.popitem(last=False)[0] if self._jobs else None

    def discard(self, job: Job) -> None:
        """Remove a job, wherever it stands."""
        self._jobs.pop(job, None)

    def __len__(self) -> int:
        return len(self._jobs)
