"""Where do splitters cut, how fast, and how early does the first unit come?

Compares the stock splitter, ours, and `sentencex` if it is installed, on sentences that are easy to cut in the wrong
place; then measures what `max_buffer_delay_ms` buys for answers written at the pace of a language model.
"""

import importlib
import re
import statistics
import sys
import time
from collections.abc import Callable
from typing import Final

from benchmarks._report import Options, Report, note, parse_options

from antiphon.text import AutoOptions, AutoSegmenter, StockSplitter

Splitter = Callable[[str], list[str]]

# A bar stands where a reader would stop.
TRICKY: Final = r"""
Dr. Brown saw Mrs. Green at noon.| They had a long talk.
The value is 3.14 and not 2.71.| Remember that.
The ticket costs $3.14.| The bus is free.
They moved here on Jan. 1 of last year.| It was snowing.
Some metals, e.g. iron and i.e. steel, rust.| Gold does not.
“Where are you going?” he asked.| She said, “Home.”
Wait... what did you say?| I was not listening.
We open at 9 a.m. and close at 5 p.m. on weekdays.| Come early.
The U.S. economy grew.| So did that of the U.K. this year.
你好。|我是小李，很高兴认识你！|你来自哪里？
नमस्ते।| आप कैसे हैं?| मैं ठीक हूँ।
Install v2.10.3 from https://get.example.org/v2.10.3/setup.sh?os=linux.| Then restart.
J. R. R. Tolkien met C. S. Lewis in Oxford.| They became friends.
Agenda\n|1. Opening remarks\n|2. Budget\n\n|Please be on time.
He left Acme Inc. in spring.| Now he works alone. 🎉
"""
MORE: Final = r"""
She lives in the U.S. with her cat.| The cat is old.
I have lived in the U.S.| It is a large country.
He works at Acme Inc.| He likes the work there.
The train leaves at 9:30 a.m.| Then there is none until noon.
Write to first.last@example.org or call.| We will answer.
Open notes.txt and main.py first.| Then run main.py.
Born on Jan 1, 1980.| Died in 2020.
It sold 1,000,000 copies in 2.5 years.| Nobody expected it.
See Fig. 3 and No. 5 in vol. 2 of the book.| They explain it.
I have to say no.| It will not work.
Prof. Lee, Sen. Hill and Gen. Ford met.| Nothing came of it.
Apples, pears, etc. are fruit.| Rice is not.
We sell pens, paper, etc.| You can pay by card.
He has a Ph.D. in physics.| She has an M.A. in law.
You did what?!| I cannot believe it!!
She whispered, "Go now." |He stayed.
(This is an aside.)| The text goes on.
I am not sure...| Let me look it up.
It was… strange, to say the least.| Nobody moved.
We go with plan B.| It is the better one.
The ratio is 4:3 at 60 f.p.s. in most modes.| It looks smooth.
<speed ratio="1.05"/> Read this faster.| <speed ratio="0.95"/> And this slower.
**Important.** |Read the *whole* text.| Then sign it.
- Buy two eggs\n|- Buy some milk\n|- Go home
Dear team,\n|thank you for your work.\n\n|Best wishes
今日は晴れです。|「はい。」と彼は言った。
价格是23.5元。|作者是J.K. Rowling女士。
你今天过得好吗?|我很好!
كيف حالك؟| أنا بخير.
আমি ভালো আছি।| তুমি কেমন আছো?
¿Cómo está el Sr. Pérez?| Está bien.
Mme Durand habite ici.| Elle est partie à 9 h. ce matin.
Das gilt z.B. für Dr. Meier.| Er kommt um 3.30 Uhr.
I <3 this song.| It is so good! 🎶
Visit example.com.| It has the details.
St. Mary's is near Main St. in town.| You cannot miss it.
The box weighs approx. 5 lbs. or less.| It is easy to carry.
"""

ANSWERS: Final = (
    "Hello, how are you?",
    "Sure, I can help you with that.",
    "I'd be happy to help you with that!",
    "The capital of France is Paris, which has about two million people.",
    "Great question! Let me explain how this works.",
    "To reset your password, open the settings page and choose security.",
    "Based on what you told me, I think the best option is the blue one.",
    "There are three main reasons for this: cost, speed, and safety.",
    "Your order was shipped on Monday and should arrive by Friday.",
    "I'm sorry to hear that you are having trouble with your account.",
    "Photosynthesis is the process by which plants make food from sunlight.",
    "Let me check that for you.",
    "Yes, we are open until nine in the evening on weekdays.",
    "It looks like the flight has been delayed by about two hours.",
    "Once upon a time, in a small village near the sea, there lived a girl.",
    "No problem at all. I've moved your appointment to Tuesday.",
    "Quantum computers use qubits, which can be in several states at once.",
    "You can find the nearest store on Main Street, next to the bank.",
    "Thanks for calling. What can I do for you today?",
    "The weather tomorrow will be sunny with a high of 24 degrees.",
)
TOKENS_PER_SECOND: Final = 30
DELAYS_MS: Final = (200, 250, 300, 400, 500, 600)


def cases(table: str) -> list[tuple[str, list[str]]]:
    """Return the texts of a table, each with the units that a reader would make of it."""
    lines = [line.replace("\\n", "\n") for line in table.strip().splitlines()]
    return [(line.replace("|", ""), [part.strip() for part in line.split("|")]) for line in lines]


def stock(text: str) -> list[str]:
    """Split as vLLM-Omni does."""
    splitter = StockSplitter("sentence")
    return [unit.text for unit in splitter.feed(text) + splitter.flush()]


def auto(text: str) -> list[str]:
    """Split with our segmenter, at sentences only and without merging."""
    segmenter = AutoSegmenter(AutoOptions(first_min_chars=600, min_chars=1))
    return [unit.text for unit in segmenter.feed(text, 0.0) + segmenter.flush()]


def load_sentencex() -> Splitter | None:
    """Return sentencex as a splitter of English, the language one has to guess, if it is installed."""
    try:
        segment: Callable[[str, str], list[str]] = importlib.import_module("sentencex").segment
    except ImportError:
        return None
    return lambda text: [part.strip() for part in segment("en", text) if part.strip()]


def audible(pieces: list[str]) -> list[str]:
    """Join pieces that have nothing to say, such as a last emoji, to the piece before them, as a listener would."""
    heard: list[str] = []
    for piece in pieces:
        if heard and not any(ch.isalnum() for ch in piece):
            heard[-1] += " " + piece
        else:
            heard.append(piece)
    return heard


def compare(report: Report, name: str, split: Splitter, rounds: int) -> None:
    """Measure one splitter: how many texts it gets right, and microseconds for each sentence."""
    tables = {"tricky": cases(TRICKY), "every": cases(TRICKY) + cases(MORE)}
    wrong = {text for text, expected in tables["every"] if audible(split(text)) != expected}
    right = {table: f"{sum(text not in wrong for text, _ in texts)}/{len(texts)}" for table, texts in tables.items()}
    us = min(_us_per_sentence(split, tables["every"]) for _ in range(rounds))
    report.row("Splitters", splitter=name, **right, us_per_sentence=us)
    for text in sorted(wrong):
        report.row("Wrong", splitter=name, text=repr(text))


def _us_per_sentence(split: Splitter, texts: list[tuple[str, list[str]]]) -> float:
    started = time.perf_counter()
    for text, _ in texts:
        split(text)
    return (time.perf_counter() - started) / sum(len(expected) for _, expected in texts) * 1e6


def tokens(text: str) -> list[str]:
    """Cut a text about as a language model does: short words whole, with the space before them."""
    return re.findall(r" ?\w{1,7}|[^\w ]| ", text)


def first_unit(answer: str, delay_ms: int) -> tuple[float, bool]:
    """Return when the first unit of an answer is complete, in seconds, and whether it was cut in mid-phrase."""
    segmenter = AutoSegmenter(AutoOptions(max_buffer_delay_ms=delay_ms))
    for i, token in enumerate(tokens(answer + " What else?")):
        now, deadline = i / TOKENS_PER_SECOND, segmenter.next_deadline
        if deadline is not None and deadline <= now:
            now, units = deadline, segmenter.poll(deadline)
        else:
            units = segmenter.feed(token, now)
        if units:
            return now, units[0].text[-1].isalnum()
    raise AssertionError("an answer is a unit at least")


def first_units(report: Report, delay_ms: int) -> None:
    """Measure what one value of `max_buffer_delay_ms` does to the first units of all answers."""
    measured = [first_unit(answer, delay_ms) for answer in ANSWERS]
    report.row(
        f"First unit at {TOKENS_PER_SECOND} tokens/s",
        max_buffer_delay_ms=delay_ms,
        mean_ms=statistics.mean(at for at, _ in measured) * 1000,
        worst_ms=max(at for at, _ in measured) * 1000,
        cut_in_mid_phrase=f"{sum(cut for _, cut in measured)}/{len(measured)}",
    )


def main(options: Options) -> int:
    """Compare splitters, then delays."""
    report = Report("Where splitters cut, and when the first unit comes", options)
    for name, split in {"stock": stock, "auto": auto, "sentencex": load_sentencex()}.items():
        if split is None:
            note(f"{name} is not installed")
        else:
            compare(report, name, split, rounds=options.times(20, 2))
    for delay_ms in DELAYS_MS:
        first_units(report, delay_ms)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main(parse_options(__doc__)))
