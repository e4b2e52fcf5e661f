"""What a disconnect stops: no engine step starts after it, and the one that runs ends within 10 ms.

A client lets hibari speak a unit of more than 400 phonemes over WebSocket and disappears at some moment of its
synthesis. The server runs on this process's event loop, so that the scheduler can be asked when its worker is free.
"""

import asyncio
import logging
import random
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

from benchmarks._here import ServerHere, serving_here
from benchmarks._listener import Listener, listen_to
from benchmarks._report import Options, Report, note, parse_options, quantile

from antiphon.engines.hibari.model import HibariModel
from antiphon.scheduling import SchedulerStatistics
from antiphon.server.settings import ServerSettings

STOP_BAR_MS = 10.0
LEAST_PHONEMES = 400
LATEST_S = 0.12  # after the request; by then most of the unit has been made
WATCHED_S = 0.1  # after the worker is free, for steps that should not start
LOOK_EVERY_S = 0.0005  # more often would take the interpreter from the step that is to end
GIVE_UP_S = 5.0
CLAUSE = "and the keeper climbed the winding stairs to light the lamp once more "
TEXT = CLAUSE * 8

LEAVE: dict[str, Callable[[Listener], None]] = {"reset": Listener.reset, "close frame": Listener.close}


@dataclass(frozen=True, slots=True)
class Stop:
    """One disconnect.

    Attributes:
        noticed_ms: from the client's leaving until the server closed the unit.
        stopped_ms: from the client's leaving until no step ran.
        steps_after: steps that started after the server had closed the unit.
    """

    noticed_ms: float
    stopped_ms: float
    steps_after: int


def main(options: Options) -> int:
    """Disappear many times."""
    logging.disable()
    report = Report("A disconnect while hibari speaks a long unit", options)
    runs = [len(ids) for ids in HibariModel(1).read(TEXT)]
    report.row("Unit", characters=len(TEXT), phonemes=sum(runs), longest_graph_run=max(runs))
    assert sum(runs) > LEAST_PHONEMES
    asyncio.run(_measure(report, times=options.times(100, 5)))
    return report.finish()


async def _measure(report: Report, times: int) -> None:
    # One worker: a step of anyone else would have to wait for it.
    settings = ServerSettings.load(engine="hibari", port=0, workers=1, log_level="error")
    async with serving_here(settings) as server:
        for name, leave in LEAVE.items():
            note(f"{name}: {times} times …")
            stops = [await _leave_while_a_step_runs(server, leave) for _ in range(times)]
            _show(report, name, stops)


def _show(report: Report, name: str, stops: list[Stop]) -> None:
    stopped_ms = [stop.stopped_ms for stop in stops]
    steps = sum(stop.steps_after for stop in stops)
    report.row(
        "Disconnects",
        by=name,
        n=len(stops),
        noticed_p50_ms=quantile([stop.noticed_ms for stop in stops], 0.5),
        stopped_p50_ms=quantile(stopped_ms, 0.5),
        p95_ms=quantile(stopped_ms, 0.95),
        worst_ms=max(stopped_ms),
        steps_started_after=steps,
    )
    report.bar(f"{name}: worker free, p95", quantile(stopped_ms, 0.95), STOP_BAR_MS, "ms")
    report.bar(f"{name}: steps started after the server noticed", steps, 0, "steps")


async def _leave_while_a_step_runs(server: ServerHere, leave: Callable[[Listener], None]) -> Stop:
    listener = await listen_to(server.address)
    listener.send(type="session.config", response_format="pcm", stream_audio=True)
    listener.send(type="input.text", text=TEXT)
    listener.send(type="input.done")
    await asyncio.sleep(random.uniform(0.005, LATEST_S))  # noqa: S311 - no secret
    before = await _until(server, lambda now: now.stepping == 1)
    left = time.perf_counter()
    leave(listener)
    noticed = await _until(server, lambda now: now.units_closed > before.units_closed)
    noticed_ms = (time.perf_counter() - left) * 1000
    await _until(server, lambda now: now.stepping == 0)
    stopped_ms = (time.perf_counter() - left) * 1000
    await asyncio.sleep(WATCHED_S)
    assert not server.state.sessions
    return Stop(noticed_ms, stopped_ms, server.scheduler.statistics().steps - noticed.steps)


async def _until(server: ServerHere, wanted: Callable[[SchedulerStatistics], bool]) -> SchedulerStatistics:
    """Look at the scheduler again and again until it is as wanted."""
    async with asyncio.timeout(GIVE_UP_S):
        while not wanted(now := server.scheduler.statistics()):  # noqa: ASYNC110 - the server has no event for this
            await asyncio.sleep(LOOK_EVERY_S)
    return now


if __name__ == "__main__":
    sys.exit(main(parse_options(__doc__)))
