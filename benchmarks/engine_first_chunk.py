"""How soon hibari is heard, and what that costs, against the package's own whole-sentence call in the same run.

For sentences of 58 characters and more: the first audible chunk within half the time of the whole-sentence call, all
chunks within 1.2 times. Also how long a step that runs goes on after `close`. Exits with 1 when a bar is missed.

    python benchmarks/engine_first_chunk.py [--threads N] [--rounds N] [--json FILE]
"""

import argparse
import json
import statistics
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from hibari import Hibari

from antiphon.audio.measures import audible_span
from antiphon.engines.contract import SpeechUnit
from antiphon.engines.hibari import HibariEngine

FIRST_BAR, WHOLE_BAR, STOP_BAR_MS = 0.5, 1.2, 10.0

SENTENCES = (
    "Your order has been shipped and should arrive on Thursday.",
    "The meeting starts at 9:30 on March 3rd, and the ticket costs 25 dollars.",
    "Every evening, the keeper climbed two hundred steps to light the lamp.",
    "Ships far out at sea watched for its beam, and no sailor ever doubted that it would shine.",
    "Streaming speech lets a voice assistant begin to talk before its answer is written, which makes a talk feel natural.",
)


@dataclass(frozen=True, slots=True)
class Row:
    """One sentence; times are medians.

    Attributes:
        first_ratio: median over rounds of first audible chunk / package, both of the same round.
        all_ratio: the same for all chunks.
    """

    characters: int
    audio_s: float
    package_ms: float
    first_ms: float
    all_ms: float
    first_ratio: float
    all_ratio: float


def package_s(package: Hibari, text: str) -> float:
    """Seconds of the package's whole-sentence call."""
    start = time.perf_counter()
    package(text, seed=0)
    return time.perf_counter() - start


def engine_s(engine: HibariEngine, text: str) -> tuple[float, float, float]:
    """Seconds to the first audible chunk and to the last chunk, and seconds of audio."""
    start = time.perf_counter()
    first = audio = 0.0
    for chunk in engine.synthesize(SpeechUnit(text)):
        audio += chunk.duration_s
        if not first and audible_span(chunk.data):
            first = time.perf_counter() - start
    return first, time.perf_counter() - start, audio


def measure(package: Hibari, engine: HibariEngine, text: str, rounds: int) -> Row:
    """Time both, in turn."""
    times = [(package_s(package, text), *engine_s(engine, text)) for _ in range(rounds)]

    def median(value: Callable[[tuple[float, float, float, float]], float]) -> float:
        return statistics.median(map(value, times))

    return Row(
        characters=len(text),
        audio_s=times[0][3],
        package_ms=median(lambda t: t[0] * 1e3),
        first_ms=median(lambda t: t[1] * 1e3),
        all_ms=median(lambda t: t[2] * 1e3),
        first_ratio=median(lambda t: t[1] / t[0]),
        all_ratio=median(lambda t: t[2] / t[0]),
    )


def stop_ms(engine: HibariEngine, delay_s: float) -> float:
    """Milliseconds that a step goes on after `close`, called `delay_s` into a sentence of 24 seconds."""
    synthesis = engine.synthesize(SpeechUnit("one two three four five six seven eight nine ten " * 8))
    ended: list[float] = []

    def step() -> None:
        for _ in synthesis:
            pass
        ended.append(time.perf_counter())

    thread = threading.Thread(target=step)
    thread.start()
    time.sleep(delay_s)
    closed = time.perf_counter()
    synthesis.close()
    thread.join()
    return max(0.0, (ended[0] - closed) * 1e3)


def report(rows: list[Row], stops: list[float]) -> list[str]:
    """Print the table; return the bars that were missed."""
    print("chars  audio s  package ms  first ms (ratio)  all ms (ratio)")
    for row in rows:
        print(
            f"{row.characters:5}  {row.audio_s:7.2f}  {row.package_ms:10.1f}  "
            f"{row.first_ms:8.1f} ({row.first_ratio:.2f})  {row.all_ms:6.1f} ({row.all_ratio:.2f})"
        )
    print(
        f"a running step stops in {statistics.median(stops):.1f} ms (p95 {percentile(stops, 95):.1f}) of {len(stops)}"
    )
    missed = [f"first chunk at {row.characters} characters" for row in rows if row.first_ratio > FIRST_BAR]
    missed += [f"all chunks at {row.characters} characters" for row in rows if row.all_ratio > WHOLE_BAR]
    if percentile(stops, 95) > STOP_BAR_MS:
        missed.append("time to stop, p95")
    return missed


def percentile(values: list[float], percent: int) -> float:
    """The smallest value that `percent` of all do not exceed."""
    return sorted(values)[min(len(values) - 1, len(values) * percent // 100)]


def main() -> int:
    """Measure, print, and say whether all bars were reached."""
    parser = argparse.ArgumentParser(description="First chunk and whole of hibari, against the package")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    package, engine = Hibari(threads=options.threads), HibariEngine(threads=options.threads)
    package("Warm up.")
    engine.load()
    rows = [measure(package, engine, text, options.rounds) for text in SENTENCES]
    stops = [stop_ms(engine, delay_ms / 1000) for delay_ms in range(2, 102, 2)]
    missed = report(rows, stops)
    if options.json:
        result = {"rows": [asdict(row) for row in rows], "stop_ms": stops, "missed": missed}
        options.json.write_text(json.dumps(result, indent=1), encoding="utf-8")
    print("missed: " + ", ".join(missed) if missed else "all bars reached")
    return bool(missed)


if __name__ == "__main__":
    sys.exit(main())
