"""Whatever the text, a step is bounded, a unit can be stopped in the middle of it, and the work grows with its length."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from antiphon.engines.contract import SpeechUnit
from antiphon.engines.hibari import HibariEngine
from antiphon.engines.hibari.model import HibariModel
from antiphon.engines.hibari.synthesis import Delivery, HibariSynthesis
from antiphon.engines.hibari.voices import Timbre

PATTERNS = [
    *["e-", '"', "'", "-", ".", "5", "_", "=", "a", "E", "ʬ", "\u0301", "\U0001f600", "\n", "±", "#", "½"],
    *[
        'a"',
        "a.",
        "a'",
        "a-",
        "a.5",
        "5,",
        "1.",
        "aB",
        "E№",
        "e'-",
        "—a",
        "q/",
        "@e",
        "a?b&",
        "é\u0301",
        "aא",
        "[a](",
        "_ß",
    ],
    *["xq ", "a. ", '"a ', "a\n", 'E", ', "bdc ", "' ", ". ", "&-+", "5 km ", "1/2/", "1:23", "Dr. "],
]
STEPS = 3
SENTENCE = ("Streaming speech lets a voice begin to talk before the answer is written, which feels natural, " * 7)[:600]


def repeated(pattern: str, length: int) -> str:
    return (pattern * length)[:length]


def slowest_step_s(engine: HibariEngine, text: str) -> float:
    """CPU seconds of the slowest of the first steps, which no other test's load can change."""
    synthesis = engine.synthesize(SpeechUnit(text))
    took = []
    for _ in range(STEPS):
        started = time.thread_time()
        next(synthesis, None)
        took.append(time.thread_time() - started)
    synthesis.close()
    return max(took)


@pytest.fixture(scope="module")
def ordinary_s(engine: HibariEngine) -> float:
    return max(slowest_step_s(engine, SENTENCE) for _ in range(3))


@pytest.mark.parametrize("pattern", PATTERNS)
def test_no_step_takes_much_longer_than_one_of_an_ordinary_sentence(
    engine: HibariEngine, ordinary_s: float, pattern: str
) -> None:
    for length in (600, 100_000):
        assert slowest_step_s(engine, repeated(pattern, length)) < 6 * ordinary_s


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("phonemes", ["", "ˈA"])
def test_the_work_grows_with_the_text_and_a_call_of_the_g2p_gives_an_item(
    model: HibariModel, monkeypatch: pytest.MonkeyPatch, pattern: str, phonemes: str
) -> None:
    read: list[int] = []

    def record(piece: str, **_how: bool) -> str:
        read.append(len(piece))
        return phonemes

    monkeypatch.setattr(model, "_g2p", record)
    calls = []
    for length in (2000, 20_000):
        read.clear()
        for items, item in enumerate(model.read(repeated(pattern, length)), 1):
            assert len(read) == items
            assert bool(item) == bool(phonemes)
        calls.append(len(read))
        assert sum(read) <= 20 * length  # a sign may be a few words
    assert calls[1] <= 11 * calls[0] + 2


def test_silence_of_any_length_ends_in_one_step(engine: HibariEngine) -> None:
    assert list(engine.synthesize(SpeechUnit("\"'-. \n" * 20_000))) == []


def test_letters_that_nobody_can_read_give_empty_chunks(engine: HibariEngine) -> None:
    synthesis = engine.synthesize(SpeechUnit("ʬ" * 3000))
    chunks = list(synthesis)
    assert len(chunks) > 1
    assert not any(chunk.data for chunk in chunks)
    assert synthesis.exhausted


class Waiting(HibariModel):
    """Reads pieces that say nothing for as long as it is asked to."""

    def __init__(self, model: HibariModel) -> None:
        self.__dict__.update(model.__dict__)
        self.reading, self.go_on = threading.Event(), threading.Event()
        self.items = 0

    def read(self, unit: str) -> Iterator[list[int]]:
        for item in super().read(unit):
            self.items += 1
            self.reading.set()
            assert self.go_on.wait(10)
            yield item


def test_closing_while_a_piece_is_read_ends_the_unit_with_that_piece(engine: HibariEngine) -> None:
    model = Waiting(engine._loaded())
    synthesis = HibariSynthesis(lambda: model, "e-" * 500_000, Delivery(Timbre(), 1.0, 200, 0))
    with ThreadPoolExecutor(1) as pool:
        stepping = pool.submit(next, synthesis, None)
        assert model.reading.wait(10)
        synthesis.close()
        model.go_on.set()
        assert stepping.result(10) is None
    assert model.items == 1
    assert list(synthesis) == []


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_unit_closed_between_two_steps_gives_nothing_more(engine: HibariEngine, pattern: str) -> None:
    synthesis = engine.synthesize(SpeechUnit(repeated(pattern, 1_000_000)))
    next(synthesis, None)
    synthesis.close()
    assert list(synthesis) == []
