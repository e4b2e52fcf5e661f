import time
from collections.abc import Callable, Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.text.stock import Granularity, StockSplitter
from antiphon.text.units import Unit

# Observed on vLLM-Omni 0.30.0: granularity, pieces fed, units after each piece, units of the flush.
EXAMPLES: list[tuple[Granularity, list[str], list[list[str]], list[str]]] = [
    ("none", [" Hi. ", "You?\n"], [[], []], ["Hi. You?"]),
    ("none", [" ", "\n"], [[], []], []),
    ("sentence", ["Hello world.", " "], [[], ["Hello world."]], []),
    ("sentence", ["Hello world."], [[]], ["Hello world."]),
    ("sentence", ["How are", "you?"], [[], []], ["How areyou?"]),
    ("sentence", ["你好。", "世界"], [[], ["你好。"]], ["世界"]),
    ("sentence", ["नमस्ते। आप", "॥", "कैसे؟"], [["नमस्ते।"], [], ["आप॥"]], ["कैसे؟"]),
    ("sentence", ['Wait... what?! "Yes." Done'], [["Wait...", "what?!", '"Yes."']], ["Done"]),
    ("sentence", ["Wait… what", "…"], [["Wait…"], []], ["what…"]),
    ("sentence", ["Go.No space"], [[]], ["Go.No space"]),
    ("sentence", ["..."], [[]], ["..."]),
    ("sentence", ["Hi.) x", " Pay 3.14. ", "1.", " 2"], [["Hi.)"], ["x Pay 3.14."], [], ["1."]], ["2"]),
    ("sentence", ['He said "Hi.', ' " Bye. "Yes," no'], [[], ['He said "Hi.', '" Bye.']], ['"Yes," no']),
    ("sentence", ["J. R. R. Tolkien. wrote"], [["J. R. R. Tolkien."]], ["wrote"]),
    ("sentence", ["On Jan. 1 we met"], [["On Jan."]], ["1 we met"]),
    ("sentence", ["U.S. vs. U.K., approx. 5 etc.. Yes. No"], [["U.S. vs. U.K., approx. 5 etc.. Yes."]], ["No"]),
    ("sentence", ["Mr.Smith. X", "approximate. q", "Dept.. c"], [["Mr.Smith."], ["Xapproximate."], ["qDept.."]], ["c"]),
    ("sentence", ["One\nTwo.\nThree"], [["One\nTwo."]], ["Three"]),
    ("clause", ["One, two, 1,000; three"], [["One,", "two,", "1,000;"]], ["three"]),
    ("clause", ['a," b; c.) d'], [['a,"', "b;"]], ["c.) d"]),
    ("clause", ["Hallo,Welt, ja"], [["Hallo,Welt,"]], ["ja"]),
    ("clause", ["好，世界；", "1,", "000"], [["好，"], ["世界；"], []], ["1,000"]),
    # The verdict on the second stop depends on whether the first one is still in sight.
    ("sentence", ["。.a. b"], [["。.", "a."]], ["b"]),
    ("sentence", ["。.a.", " b"], [["。."], []], ["a. b"]),
    ("sentence", ["。.", "a.", " b"], [[], ["。."], []], ["a. b"]),
]


def texts(units: Iterable[Unit]) -> list[str]:
    return [unit.text for unit in units]


@pytest.mark.parametrize(("granularity", "pieces", "fed", "flushed"), EXAMPLES)
def test_splits_as_the_server_does(
    granularity: Granularity, pieces: list[str], fed: list[list[str]], flushed: list[str]
) -> None:
    splitter = StockSplitter(granularity)
    assert [texts(splitter.feed(piece)) for piece in pieces] == fed
    assert texts(splitter.flush()) == flushed


def test_an_unknown_granularity_is_refused() -> None:
    with pytest.raises(ValueError, match="Unsupported split_granularity: 'word'"):
        StockSplitter("word")  # type: ignore[arg-type]  # a value from the wire


def test_spans_start_anew_after_a_flush() -> None:
    splitter = StockSplitter("sentence")
    assert splitter.feed("  One. Two") == [Unit("One.", 0, 6)]
    assert splitter.flush() == [Unit("Two", 6, 10)]
    assert splitter.feed("Three. ") == [Unit("Three.", 0, 6)]
    assert splitter.flush() == []


@given(
    st.lists(st.text(st.sampled_from('aU.S!?,;。，…।)”" \n1é🎉'), max_size=12)),
    st.sampled_from(["none", "sentence", "clause"]),
)
def test_units_tile_the_input(
    assert_tiles: Callable[[str, list[Unit]], None], pieces: list[str], granularity: Granularity
) -> None:
    splitter = StockSplitter(granularity)
    units = [unit for piece in pieces for unit in splitter.feed(piece)]
    assert_tiles("".join(pieces), units + splitter.flush())


def _seconds(text: str, piece: int) -> float:
    splitter = StockSplitter("clause")
    started = time.process_time()
    for at in range(0, len(text), piece):
        splitter.feed(text[at : at + piece])
    splitter.flush()
    return time.process_time() - started


@pytest.mark.parametrize("ch", ["a", ".", "。", " ", ")", "…", ","])
@pytest.mark.parametrize("piece", [1, 1 << 20])
def test_a_long_run_of_one_character_costs_linear_time(ch: str, piece: int) -> None:
    # Eight times the text: 8 when linear, 64 when quadratic. A busy machine may spoil some of the measurements.
    assert any(_seconds(ch * 80_000, piece) < 24 * _seconds(ch * 10_000, piece) for _ in range(5))


def test_a_megabyte_of_stops_is_one_unit() -> None:
    splitter = StockSplitter("sentence")
    assert splitter.feed("." * 1_000_000) == []
    assert splitter.flush() == [Unit("." * 1_000_000, 0, 1_000_000)]
