"""Which job steps next. A policy orders; it does not know engines, threads or listeners' sockets."""

from collections import deque
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

    def __len__(self) -> int: ...


class Fifo:
    """First come, first served, one step at a time: a job that has stepped goes to the back."""

    def __init__(self) -> None:
        self._jobs: deque[Job] = deque()

    def push(self, job: Job, now: float) -> None:  # noqa: ARG002 - time does not matter here
        """Add a job at the back."""
        self._jobs.append(job)

    def pop(self, now: float) -> Job | None:  # noqa: ARG002 - time does not matter here
        """Return the job at the front."""
        return self._jobs.popleft() if self._jobs else None

    def __len__(self) -> int:
        return len(self._jobs)
