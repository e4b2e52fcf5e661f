"""How much of a unit's first sound is the server's doing, and what a listener hears of an LLM's text.

Three measurements of hibari, client and server in processes of their own:

- the first chunk over WebSocket, against the same engine under the same scheduler inside this process, in turn;
- from the last token of the first unit to the first audible sample, while text arrives at an LLM's pace;
- the silence between two sentences, against `--pause-ms`.
"""

import asyncio
import itertools
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import aclosing

from benchmarks._report import Options, Report, note, parse_options, quantile
from benchmarks._server import serving

import antiphon
from antiphon.audio.measures import audible_span
from antiphon.audio.pcm import BYTES_PER_SAMPLE
from antiphon.client.events import Audio, Finished
from antiphon.client.pace import paced
from antiphon.client.statistics import Statistics
from antiphon.client.voice import Voice
from antiphon.engines.contract import SpeechUnit
from antiphon.engines.hibari import HibariEngine
from antiphon.scheduling import Scheduler, speak

P50_BAR_MS, P95_BAR_MS = 8.0, 25.0
AUDIBLE_BAR_MS = 100.0
PAUSES_MS, PAUSE_BAR_MS = (100, 200, 400), 10.0
TOKENS_PER_SECOND = 30.0

SENTENCES = (
    "Your order has been shipped and should arrive on Thursday.",
    "The meeting starts at half past nine, and the ticket costs 25 dollars.",
    "Every evening, the keeper climbed two hundred steps to light the lamp.",
    "I have moved your appointment to next Tuesday, the seventh, at four o'clock.",
    "Ships far out at sea watched for its beam, and no sailor ever doubted that it would shine.",
    "Streaming speech lets a voice assistant begin to talk before its answer is complete.",
)
ANSWERS = (
    "Your order has been shipped. It should arrive on Thursday, before noon.",
    "Sure, I can help you with that! Could you tell me the number on your invoice, please?",
    "The meeting starts at half past nine. I will remind you a quarter of an hour before it begins.",
    "It will rain in the afternoon, so take an umbrella with you. The evening stays dry.",
)


def main(options: Options) -> int:
    """Measure all three."""
    report = Report("First sound of hibari over WebSocket", options)
    with serving("--engine", "hibari") as server:
        asyncio.run(_first_chunk(report, server.target, rounds=options.times(25, 2)))
        asyncio.run(_first_audible(report, server.target, rounds=options.times(15, 1)))
    for pause_ms in PAUSES_MS:
        with serving("--engine", "hibari", "--pause-ms", str(pause_ms)) as server:
            asyncio.run(_pauses(report, server.target, pause_ms))
    worst_ms = max(float(row["off_by_ms"]) for row in report.tables["Silence between two sentences"])
    report.bar("silence between sentences, off by at most", worst_ms, PAUSE_BAR_MS, "ms")
    return report.finish()


# First chunk, over WebSocket and in process.


async def _first_chunk(report: Report, target: str, rounds: int) -> None:
    engine = HibariEngine()
    engine.load()
    scheduler = Scheduler(engine)
    async with antiphon.connect("local:hibari") as local, antiphon.connect(target) as remote:
        ways: dict[str, Callable[[str], Awaitable[float]]] = {
            "scheduler, in process": lambda text: _of_scheduler(scheduler, text),
            "client and session, in process": lambda text: _of_voice(local, text),
            "over WebSocket": lambda text: _of_voice(remote, text),
        }
        took = await _in_turn(ways, rounds)
    await scheduler.close()
    for name, times in took.items():
        report.row("First chunk", way=name, n=len(times), p50_ms=quantile(times, 0.5), p95_ms=quantile(times, 0.95))
    inside, outside = took["scheduler, in process"], took["over WebSocket"]
    for share, bar_ms in ((0.5, P50_BAR_MS), (0.95, P95_BAR_MS)):
        added_ms = quantile(outside, share) - quantile(inside, share)
        report.bar(f"first chunk, WebSocket beyond in process, p{share * 100:g}", added_ms, bar_ms, "ms")


async def _in_turn(ways: dict[str, Callable[[str], Awaitable[float]]], rounds: int) -> dict[str, list[float]]:
    note(f"first chunk: {rounds} rounds of {len(SENTENCES)} sentences …")
    took: dict[str, list[float]] = {name: [] for name in ways}
    for measured in (False, *[True] * rounds):
        for text in SENTENCES:
            for name, way in ways.items():
                first_s = await way(text)
                if measured:
                    took[name].append(first_s * 1000)
    return took


async def _of_scheduler(scheduler: Scheduler, text: str) -> float:
    first_s: float | None = None
    started = time.perf_counter()
    async with aclosing(speak(scheduler.listener(), SpeechUnit(text))) as chunks:
        async for _ in chunks:
            if first_s is None:
                first_s = time.perf_counter() - started
    assert first_s is not None
    return first_s


async def _of_voice(voice: Voice, text: str) -> float:
    first_s = (await _finish(voice, text)).first_chunk_s
    assert first_s is not None
    return first_s


async def _finish(voice: Voice, text: object) -> Statistics:
    async for event in voice.say(text):  # type: ignore[arg-type]  # str, or an iterator of them
        if isinstance(event, Finished):
            return event.statistics
    raise AssertionError("an utterance ends with Finished")


# First audible sample, at an LLM's pace.


async def _first_audible(report: Report, target: str, rounds: int) -> None:
    note(f"first audible sample: {rounds} rounds of {len(ANSWERS)} answers at {TOKENS_PER_SECOND:g} tokens/s …")
    waits: list[float] = []
    early = 0
    async with antiphon.connect(target) as voice:
        for _ in range(rounds):
            for text in ANSWERS:
                heard = await _finish(voice, paced(text, TOKENS_PER_SECOND))
                assert heard.first_audible_s is not None
                assert heard.first_unit_text_s is not None
                assert heard.text_complete_s is not None
                waits.append((heard.first_audible_s - heard.first_unit_text_s) * 1000)
                early += heard.first_audible_s < heard.text_complete_s
    p95_ms = quantile(waits, 0.95)
    report.row(
        "From the first unit's last token to the first audible sample",
        n=len(waits),
        p50_ms=quantile(waits, 0.5),
        p95_ms=p95_ms,
        worst_ms=max(waits),
        before_the_text_was_complete=f"{early}/{len(waits)}",
    )
    report.bar("first audible sample after the first unit's last token, p95", p95_ms, AUDIBLE_BAR_MS, "ms")


# Pauses.


async def _pauses(report: Report, target: str, pause_ms: int) -> None:
    note(f"pauses of {pause_ms} ms …")
    async with antiphon.connect(target) as voice:
        silences = [silence for text in ANSWERS for silence in await _silences_ms(voice, text)]
    off_by_ms = max(abs(silence - pause_ms) for silence in silences)
    report.row(
        "Silence between two sentences",
        pause_ms=pause_ms,
        n=len(silences),
        least_ms=min(silences),
        most_ms=max(silences),
        off_by_ms=off_by_ms,
    )


async def _silences_ms(voice: Voice, text: str) -> list[float]:
    """The silence from each unit's last audible sample to the next one's first."""
    units: dict[int, bytes] = {}
    sample_rate = 0
    async for event in voice.say(text):
        if isinstance(event, Audio):
            units[event.unit] = units.get(event.unit, b"") + event.data
            sample_rate = event.sample_rate
    spans = [(audible_span(pcm), len(pcm) // BYTES_PER_SAMPLE) for pcm in units.values()]
    silences = []
    for (span, length), (following, _) in itertools.pairwise(spans):
        assert span is not None
        assert following is not None
        silences.append((length - span[1] + following[0]) * 1000 / sample_rate)
    return silences


if __name__ == "__main__":
    sys.exit(main(parse_options(__doc__)))
