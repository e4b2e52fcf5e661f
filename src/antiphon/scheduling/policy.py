"""Which job steps next. A policy orders; it does not know engines, threads or listeners' sockets."""

import heapq
import itertools
from collections import OrderedDict
from dataclasses import dataclass, field
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
    """First come, first served, one step at a time: a job that has stepped goes to the back. For comparison."""

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


class EarliestDeadline:
    """The job first whose listener runs dry first; of two, the one that has waited longer.

    First come, first served would give everyone a step in turn. The first chunk of an engine that begins early is
    short, so with many listeners some would run dry before their second turn, while others are seconds ahead.
    """

    def __init__(self) -> None:
        self._heap: list[_Entry] = []
        self._entries: dict[Job, _Entry] = {}
        self._pushed = itertools.count()

    def push(self, job: Job, now: float) -> None:  # noqa: ARG002 - the deadline is the job's
        """Add a job."""
        entry = self._entries[job] = _Entry(job.due_s, next(self._pushed), job)
        heapq.heappush(self._heap, entry)

    def pop(self, now: float) -> Job | None:  # noqa: ARG002 - as above
        """Return the most urgent job."""
        while self._heap:
            if (job := heapq.heappop(self._heap).job) is not None:
                del self._entries[job]
                return job
        return None

    def discard(self, job: Job) -> None:
        """Remove a job, wherever it stands; its place in the heap goes when its turn comes."""
        if (entry := self._entries.pop(job, None)) is not None:
            entry.job = None

    def __len__(self) -> int:
        return len(self._entries)


@dataclass(slots=True, order=True)
class _Entry:
    due_s: float
    pushed: int
    job: Job | None = field(compare=False)
