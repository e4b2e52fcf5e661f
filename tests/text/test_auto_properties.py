import time
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.text.auto import AutoOptions, AutoSegmenter
from antiphon.text.scanner import Scanner
from antiphon.text.units import Unit

Tiling = Callable[[str, list[Unit]], None]

WHOLE = """
    word The he U.S U.K Dr J R e.g Inc etc no No a.m 3.14 1,000 $3.5 9:30 v1.2.3 1980 3 x.org/a.b?c=d.e,f https://x.org/a!b
    a.b@x.org notes.txt Großmutter 你好 世界 नमस्ते كيف it's well-known
""".split()  # noqa: SIM905  # a list of words reads best as words
MARKS = [*".!?,;:。！？…।؟，—–-", "...", "?!", '."', ".)", "**", '"', "(", "🎉", "1. "]
SPACES = [*"    \n\t", "\n\n", "<b>", '<s r="1.5"/>', "<"]

whole = st.sampled_from(WHOLE)
atoms = st.lists(st.one_of(whole, st.sampled_from(MARKS), st.sampled_from(SPACES)), max_size=40)
raw = st.text(st.sampled_from("aB1.,!?…。，।— \n\t\r<>/\"')*🎉\ud800你"), max_size=60)
texts = st.one_of(atoms.map("".join), raw)
options = st.builds(
    AutoOptions,
    first_min_chars=st.sampled_from([1, 8, 20]),
    min_chars=st.sampled_from([1, 12]),
    max_chars=st.sampled_from([20, 33, 600]),
)


def segment(pieces: list[str], chosen: AutoOptions | None = None) -> list[Unit]:
    segmenter = AutoSegmenter(chosen)
    return [unit for piece in pieces for unit in segmenter.feed(piece, 0.0)] + segmenter.flush()


@st.composite
def pieces_of(draw: st.DrawFn) -> list[str]:
    text = draw(texts)
    cuts = sorted(draw(st.sets(st.integers(0, len(text)))) | {0, len(text)})
    return [text[start:end] for start, end in pairwise(cuts)]


@given(pieces_of(), options)
def test_units_tile_the_input_and_do_not_depend_on_its_pieces(
    assert_tiles: Tiling, pieces: list[str], chosen: AutoOptions
) -> None:
    text = "".join(pieces)
    units = segment(pieces, chosen)
    assert_tiles(text, units)
    assert units == segment([text], chosen) == segment(list(text), chosen)
    assert all(len(unit.text) <= chosen.max_chars for unit in units)


@given(pieces_of(), options, st.lists(st.sampled_from([0.0, 0.03, 0.2, 0.5, 2.0]), min_size=1))
def test_units_tile_the_input_at_any_pace_and_each_deadline_brings_one(
    assert_tiles: Tiling, pieces: list[str], chosen: AutoOptions, gaps: list[float]
) -> None:
    segmenter, units, now = AutoSegmenter(chosen), list[Unit](), 0.0
    for i, piece in enumerate(pieces):
        units += segmenter.feed(piece, now)
        until = now + gaps[i % len(gaps)]
        while (deadline := segmenter.next_deadline) is not None and deadline <= until:
            assert deadline > now
            now = deadline
            due = segmenter.poll(now)
            assert len(due) == 1
            units += due
        now = until
        assert segmenter.poll(now) == []
    units += segmenter.flush()
    assert_tiles("".join(pieces), units)
    assert all(len(unit.text) <= chosen.max_chars for unit in units)


@given(
    st.lists(
        st.tuples(whole, st.sampled_from([" ", ". ", ", ", "? ", "\n", "... ", '." ', "。", "，", " — "])), max_size=30
    ),
    st.sampled_from([1, 20]),
)
def test_no_unit_ends_inside_a_word_number_or_address(parts: list[tuple[str, str]], first_min_chars: int) -> None:
    inside, position = set[int](), 0
    for word, gap in parts:
        inside |= set(range(position + 1, position + len(word)))
        position += len(word) + len(gap)
    units = segment(["".join(word + gap for word, gap in parts)], AutoOptions(first_min_chars=first_min_chars))
    assert not inside & {unit.end for unit in units}


@given(pieces_of())
def test_each_unit_below_the_cap_says_something_except_what_follows_the_last(pieces: list[str]) -> None:
    assert all(unit.speakable for unit in segment(pieces)[:-1])


HEAVY = ["a", "1", ".", "。", " ", "\n", "<", "-", "🎉", "…", "，", '"', "<a", "a.", "J. ", "Inc. T", "a, "]


@pytest.mark.parametrize("pattern", HEAVY)
def test_each_character_is_inspected_at_most_twice(pattern: str, monkeypatch: pytest.MonkeyPatch) -> None:
    inspected = 0
    original = Scanner._take_plain

    def counting(self: Scanner, ch: str, size: int) -> None:
        nonlocal inspected
        inspected += 1
        original(self, ch, size)

    monkeypatch.setattr(Scanner, "_take_plain", counting)
    segment([pattern * 5_000])
    assert inspected <= 2 * len(pattern) * 5_000


def _seconds(pieces: list[str]) -> float:
    started = time.process_time()
    segment(pieces)
    return time.process_time() - started


@pytest.mark.parametrize("pattern", HEAVY)
@pytest.mark.parametrize("whole_text", [True, False])
def test_long_text_costs_linear_time(pattern: str, whole_text: bool) -> None:
    def pieces(size: int) -> list[str]:
        text = (pattern * size)[:size]
        return [text] if whole_text else list(text)

    short, long = pieces(2_000), pieces(16_000)
    # Eight times the text: 8 when linear, 64 when quadratic. A busy machine may spoil some of the measurements.
    assert any(_seconds(long) < 24 * _seconds(short) for _ in range(5))


def test_a_megabyte_of_one_character_becomes_units_of_the_cap() -> None:
    units = segment(["a" * 1_000_000])
    assert len(units) == 1_667
    assert units[-1].end == 1_000_000
