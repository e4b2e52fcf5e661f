"""800 listeners at once, in real time: does anyone's player run dry, and what does each of them cost?

Everyone is spoken to by `antiphon serve --engine tone`, in chunks of 160 ms, and has a player that starts 100 ms
after the first chunk. Nobody is ever spoken to more than 500 ms ahead. The same crowd also listens to `_bare`,
which does nothing but send. Server and crowd are processes of their own on this machine; what others use of it
meanwhile is shown, because beyond its cores nobody can be served in time.
"""

import json
import subprocess
import sys
import time
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass

import psutil
from benchmarks._crowd import Crowd, Impression
from benchmarks._report import Options, Report, note, parse_options
from benchmarks._server import Server, running, serving

CHUNK_MS = 160
MAX_LEAD_MS = 500
STEPS_BELOW_MS = 320  # a step starts below this lead and adds a chunk; the rest is for what the network adds
PLAYER_BUFFER_MS = 100
SPREAD_S = 4.0
KEPT = 20


@dataclass(frozen=True, slots=True)
class Run:
    """One crowd at one server.

    Attributes:
        heard: by the crowd.
        cores: of CPU that the server used on average while it spoke.
        cpu_ms: of the server per second of audio.
        rss_kb: of the server per session, while all are spoken to.
        others_cores: that processes other than the server and the crowd used meanwhile.
    """

    heard: Impression
    cores: float
    cpu_ms: float
    rss_kb: float
    others_cores: float


def antiphon() -> AbstractContextManager[Server]:
    """Our server."""
    flags = ["--engine", "tone", "--chunk-ms", CHUNK_MS, "--pace", "listener", "--max-lead-ms", STEPS_BELOW_MS]
    return serving(*map(str, flags))


def bare() -> AbstractContextManager[Server]:
    """The baseline."""
    return running([sys.executable, "-m", "benchmarks._bare"])


def run(server: Server, crowd: Crowd) -> Run:
    """Let a crowd listen to a server."""
    rss = server.rss()
    command = [sys.executable, "-m", "benchmarks._crowd", json.dumps(asdict(crowd))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        _expect(process.stdout.readline(), "connected")
        cpu_s, busy_s, began = server.cpu_s(), _busy_s(), time.monotonic()
        _expect(process.stdout.readline(), "speaking")
        rss = server.rss() - rss
        heard = Impression(**json.loads(process.stdout.readline()))
        cpu_s, busy_s, wall_s = server.cpu_s() - cpu_s, _busy_s() - busy_s, time.monotonic() - began
    others_cores = max(0.0, busy_s - cpu_s - heard.cpu_s) / wall_s
    return Run(heard, cpu_s / wall_s, cpu_s * 1000 / heard.audio_s, rss / 1024 / crowd.listeners, others_cores)


def _busy_s() -> float:
    """Seconds of CPU that all processes together have used since the machine started."""
    times = psutil.cpu_times()
    return float(times.user + times.nice + times.system)


def _expect(line: str, word: str) -> None:
    if line.strip() != word:
        raise RuntimeError(f"the crowd did not get as far as {word!r}")


def main(options: Options) -> int:
    """Alternate between the two servers."""
    listeners, speaking_s = (100, 4.0) if options.quick else (800, 20.0)
    report = Report(f"{listeners} listeners for {speaking_s:g} s", options)
    runs: list[Run] = []
    for name, server_of in (("bare", bare), ("antiphon", antiphon)) * options.times(2, 1):
        note(f"{name}: {listeners} listeners …")
        with server_of() as server:
            crowd = Crowd(
                *server.address,
                listeners,
                speaking_s,
                SPREAD_S,
                CHUNK_MS,
                name == "bare",
                KEPT,
                PLAYER_BUFFER_MS / 1000,
            )
            one = run(server, crowd)
        _show(report, name, one, listeners)
        if name == "antiphon":
            runs.append(one)
    _judge(report, runs)
    return report.finish()


def _show(report: Report, name: str, one: Run, listeners: int) -> None:
    report.row(
        "Servers",
        server=name,
        starved=one.heard.starved,
        worst_ms=one.heard.starvation_s * 1000,
        lead_ms=one.heard.lead_s * 1000,
        server_cores=one.cores,
        cpu_ms_per_audio_s=one.cpu_ms,
        cpu_percent_per_session=one.cores * 100 / listeners,
        rss_kb_per_session=one.rss_kb,
        crowd_cores=one.heard.cpu_s / (one.heard.audio_s / listeners),
        others_cores=one.others_cores,
    )
    for error in one.heard.errors:
        note(f"  {error}")


def _judge(report: Report, runs: list[Run]) -> None:
    # Starvation can be somebody else's doing, so the best run counts; faults always count.
    report.bar("starved listeners (best run)", min(one.heard.starved for one in runs), 0, "listeners")
    report.bar("longest chunk", max(one.heard.chunk_s for one in runs) * 1000, CHUNK_MS, "ms")
    report.bar("most ahead of playback", max(one.heard.lead_s for one in runs) * 1000, MAX_LEAD_MS, "ms")
    report.bar("inexact audio", sum(one.heard.inexact for one in runs), 0, "listeners")
    report.bar("errors", sum(len(one.heard.errors) for one in runs), 0, "")


if __name__ == "__main__":
    sys.exit(main(parse_options(__doc__)))
