"""Does a server give back what a session took? 2,000 short sessions, 30 % of them aborted, after 200 to warm up.

The server runs in a process of its own. Every 200 sessions, once it has none open, its memory (resident, and unique
to it) and its threads and descriptors are read. The memory's slope is a straight line fitted to those readings, not
a difference of two: an allocator takes and keeps memory in steps. Nothing is asked of it before a reading (no
collection, no trim).
"""

import asyncio
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from benchmarks._report import Options, Report, note, parse_options
from benchmarks._server import Server, serving
from benchmarks._visits import ABORTED_SHARE, visit

WARM_UP, SESSIONS, EVERY = 200, 2000, 200
SLOPE_BAR_KB = 1.0
SETTLE_TIMEOUT_S = 10.0


@dataclass(frozen=True, slots=True)
class Reading:
    """A server without sessions.

    Attributes:
        sessions: served since the warm-up.
        rss_kb: resident memory.
        uss_kb: memory that no other process shares.
        threads: of the process.
        descriptors: open.
    """

    sessions: int
    rss_kb: float
    uss_kb: float
    threads: int
    descriptors: int


def main(options: Options) -> int:
    """Visit the server and watch it."""
    sessions = options.times(SESSIONS, 400)
    report = Report(f"{sessions} short sessions, {ABORTED_SHARE:.0%} aborted, after {WARM_UP}", options)
    with serving("--engine", "tone") as server:
        readings = list(watch(server, sessions))
    for reading in readings:
        report.row(
            "Server, while nobody is there",
            sessions=reading.sessions,
            rss_kb=reading.rss_kb,
            uss_kb=reading.uss_kb,
            threads=reading.threads,
            descriptors=reading.descriptors,
        )
    first, last = readings[0], readings[-1]
    report.bar("resident memory", slope_kb(readings), SLOPE_BAR_KB, "kB a session")
    report.bar("threads left", last.threads - first.threads, 0, "")
    report.bar("descriptors left", last.descriptors - first.descriptors, 0, "")
    return report.finish()


def watch(server: Server, sessions: int) -> Iterator[Reading]:
    """Warm the server up, then visit it, and read its figures before and after every `EVERY` sessions."""
    asyncio.run(visit(server.address, WARM_UP))
    yield read(server, 0)
    for served in range(EVERY, sessions + 1, EVERY):
        note(f"{served} sessions …")
        asyncio.run(visit(server.address, EVERY))
        yield read(server, served)


def read(server: Server, sessions: int) -> Reading:
    """Read a server's figures, once it has no session and no connection."""
    _settle(server)
    process = server.process
    memory = process.memory_full_info()
    return Reading(sessions, memory.rss / 1024, memory.uss / 1024, process.num_threads(), process.num_fds())


def slope_kb(readings: list[Reading]) -> float:
    """Kilobytes of resident memory per session: the slope of the line that fits best."""
    slope, _ = np.polyfit([reading.sessions for reading in readings], [reading.rss_kb for reading in readings], 1)
    return float(slope)


def _settle(server: Server) -> None:
    deadline = time.monotonic() + SETTLE_TIMEOUT_S
    while _open_sessions(server) or server.process.net_connections("tcp")[1:]:
        if time.monotonic() > deadline:
            raise TimeoutError("the server keeps sessions or connections whose clients are gone")
        time.sleep(0.05)


def _open_sessions(server: Server) -> float:
    with urllib.request.urlopen(f"{server.url}/metrics", timeout=5) as response:  # noqa: S310 - our own server
        lines = response.read().decode().splitlines()
    (value,) = (line.split()[1] for line in lines if line.startswith("antiphon_open_sessions "))
    return float(value)


if __name__ == "__main__":
    sys.exit(main(parse_options(__doc__)))
