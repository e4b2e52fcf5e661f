"""How many real-time streams go through the whole chain on this machine, and where the CPU goes.

Every stream writes ten tokens a second and is spoken to by `antiphon serve --engine tone --dialect 0.30`, which splits
the text itself and stays at most two seconds ahead of playback (its default). Between the two are the AWS SDK, TLS, HTTP/2, the local SageMaker and its sidecar; each a process of its
own. A player starts 200 ms after the first chunk; whoever's runs dry is counted. First all streams share a
connection, then each has its own. The same crowds speak once more through the SDK as it comes, with its own transport.
"""

import json
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, replace

from benchmarks._chain import TARGET, emulating
from benchmarks._chain_crowd import ChainCrowd, ChainImpression
from benchmarks._report import Options, Others, Report, note, parse_options, quantile
from benchmarks._server import Server, serving

SHARED, OWN = 200, 100
CHUNK_MS = 160
SPREAD_S = 4.0
PLAYER_BUFFER_S = 0.2
TONE = ("--engine", "tone", "--chunk-ms", str(CHUNK_MS), "--pace", "listener")


@dataclass(frozen=True, slots=True)
class Run:
    """One crowd.

    Attributes:
        heard: by the crowd.
        cores: of CPU, by process, on average while it listened.
        others_cores: that other processes used meanwhile.
    """

    heard: ChainImpression
    cores: dict[str, float]
    others_cores: float

    @property
    def events(self) -> int:
        """Messages both ways."""
        return self.heard.sent + self.heard.received


def run(crowd: ChainCrowd, processes: dict[str, Server]) -> Run:
    """Let a crowd listen."""
    command = [sys.executable, "-m", "benchmarks._chain_crowd", json.dumps(asdict(crowd))]
    # The SDK's own transport complains at length of every stream that is dropped while it speaks.
    complaints = subprocess.DEVNULL if crowd.plain_sdk else None
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=complaints, text=True) as process:
        assert process.stdout is not None
        _expect(process.stdout.readline(), "open")
        others, began = Others(), time.monotonic()
        used = {name: server.cpu_s() for name, server in processes.items()}
        _expect(process.stdout.readline(), "speaking")
        heard = ChainImpression(**json.loads(process.stdout.readline()))
        wall_s = time.monotonic() - began
        used = {name: server.cpu_s() - used[name] for name, server in processes.items()}
    used["client"] = heard.cpu_s
    others_cores = max(0.0, others.cores() - sum(used.values()) / wall_s)
    return Run(heard, {name: cpu_s / wall_s for name, cpu_s in used.items()}, others_cores)


def _expect(line: str, word: str) -> None:
    if line.strip() != word:
        raise RuntimeError(f"the crowd did not get as far as {word!r}")


def main(options: Options) -> int:
    """Measure both ways to connect."""
    shared, own, speaking_s = (20, 10, 4.0) if options.quick else (SHARED, OWN, 20.0)
    report = Report(f"Streams through the whole chain, for {speaking_s:g} s", options)
    for name, streams, apart in (("one connection", shared, False), ("own connections", own, True)):
        crowd = ChainCrowd(TARGET, streams, apart, speaking_s, SPREAD_S, PLAYER_BUFFER_S)
        runs = [_measure(report, name, crowd) for _ in range(options.times(2, 1))]
        plain = _measure(report, f"{name}, plain SDK", replace(crowd, plain_sdk=True))
        _judge(report, name, crowd, runs, plain)
    return report.finish()


def _measure(report: Report, name: str, crowd: ChainCrowd) -> Run:
    note(f"{name}: {crowd.streams} streams …")
    with serving(*TONE) as server, emulating(server.target) as runtime:
        measured = run(crowd, {"local SageMaker": runtime, "server": server})
    _show(report, name, crowd.streams, measured)
    return measured


def _show(report: Report, name: str, streams: int, one: Run) -> None:
    report.row(
        "Streams",
        on=name,
        streams=streams,
        connections=one.heard.connections,
        starved=one.heard.starved,
        worst_ms=one.heard.starvation_s * 1000,
        open_p50_ms=quantile(one.heard.open_ms, 0.5),
        open_p95_ms=quantile(one.heard.open_ms, 0.95),
        events_per_s=one.events / one.heard.wall_s,
        others_cores=one.others_cores,
    )
    for process, cores in one.cores.items():
        us = cores * 1e6 * one.heard.wall_s / one.events
        report.row("CPU", on=name, streams=streams, process=process, cores=cores, us_per_event=us)
    for error in one.heard.errors:
        note(f"  {error}")


def _judge(report: Report, name: str, crowd: ChainCrowd, runs: list[Run], plain: Run) -> None:
    # Starvation can be somebody else's doing, so the best run counts; faults always count.
    starved = min(one.heard.starved for one in runs)
    connections = crowd.streams if crowd.own_connections else 1
    report.bar(f"{name}: starved of {crowd.streams} (best run)", starved, 0, "streams")
    report.bar(f"{name}: errors", sum(len(one.heard.errors) for one in runs), 0, "")
    report.bar(f"{name}: connections off", abs(runs[0].heard.connections - connections), 0, "")
    report.row("CPU share of the local SageMaker", on=name, of_our_client=max(_share(one) for one in runs))
    report.bar(f"{name}: CPU of the local SageMaker as a share of the SDK client's", _share(plain), 0.5, "")


def _share(one: Run) -> float:
    return one.cores["local SageMaker"] / one.cores["client"]


if __name__ == "__main__":
    sys.exit(main(parse_options(__doc__)))
