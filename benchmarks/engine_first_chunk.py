"""How soon hibari is heard, and what that costs, against the package's own whole-sentence call in the same run.

For sentences of 58 characters and more: the first audible chunk within half the time of the whole-sentence call, all
chunks within 1.2 times. Also how long a step that runs goes on after `close`. Exits with 1 when a bar is missed.

    python benchmarks/engine_first_chunk.py [--threads N] [--rounds N] [--json FILE]
"""

import statistics
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

from benchmarks._report import Options, Report, note, parse_options, quantile
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


def main(options: Options) -> int:
    """Measure both, then the time to stop."""
    report = Report("hibari in chunks, against the package's call for the whole sentence", options)
    package, engine = Hibari(threads=1), HibariEngine()
    package("Warm up.")
    engine.load()
    for text in SENTENCES:
        note(f"{len(text)} characters …")
        row = measure(package, engine, text, rounds=options.times(15, 2))
        report.row("Sentences", **asdict(row))
        report.bar(f"first chunk at {row.characters} characters", row.first_ratio, FIRST_BAR, "of the package's call")
        report.bar(f"all chunks at {row.characters} characters", row.all_ratio, WHOLE_BAR, "of the package's call")
    stops = [stop_ms(engine, delay_ms / 1000) for delay_ms in range(2, 102, options.times(2, 20))]
    p95_ms = quantile(stops, 0.95)
    report.row("A running step stops", n=len(stops), p50_ms=quantile(stops, 0.5), p95_ms=p95_ms, worst_ms=max(stops))
    report.bar("time to stop, p95", p95_ms, STOP_BAR_MS, "ms")
    return report.finish()


if __name__ == "__main__":
    sys.exit(main(parse_options(__doc__)))
