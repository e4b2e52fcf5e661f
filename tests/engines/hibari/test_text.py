import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.engines.hibari.text import (
    MAX_CHARACTERS,
    MAX_PHONEMES,
    blocks,
    phoneme_runs,
    plain,
    unreadable_script,
)


@given(st.text(max_size=3000))
def test_blocks_lose_nothing_and_keep_the_limit(text: str) -> None:
    parts = list(blocks(text))
    assert "".join(parts) == text
    assert all(0 < len(part) <= MAX_CHARACTERS for part in parts)


def test_a_text_of_the_limit_is_one_block() -> None:
    assert list(blocks("a. " * 200)) == ["a. " * 200]
    assert len(list(blocks("a. " * 200 + "b"))) == 2


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("One, two. " + "word " * 130, "One, two. "),
        ("One, two " + "word," * 130, "One, "),
        ("One " + "word" * 160, "One "),
        ("word" * 160, "word" * 150),
    ],
)
def test_a_long_text_is_cut_where_it_hurts_least(text: str, end: str) -> None:
    assert next(blocks(text)) == end


def test_a_megabyte_of_one_character_is_cut_in_time() -> None:
    assert sum(map(len, blocks("x" * 1_000_000))) == 1_000_000


def test_phonemes_are_cut_to_what_a_run_takes() -> None:
    runs = list(phoneme_runs("wˈʌn, " * 200))
    assert max(map(len, runs)) <= MAX_PHONEMES
    assert all(run.endswith(", ") for run in runs[:-1])


@pytest.mark.parametrize("phonemes", ["", "...", " — ", "“”", "?!"])
def test_phonemes_without_sound_are_no_run(phonemes: str) -> None:
    assert list(phoneme_runs(phonemes)) == []


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ("Hello.", None),
        ("Café naïve, Ærøskøbing, 25 µm", None),
        ("The word 猫 means cat.", None),
        ("1234 \U0001f600", None),
        ("今天天气很好", "CJK"),
        ("ねこがすき", "HIRAGANA"),
        ("Привет, world", "CYRILLIC"),
        ("مرحبا", "ARABIC"),
        ("हिन्दी", "DEVANAGARI"),
        ("\ud83d", None),
    ],
)
def test_texts_that_are_mostly_in_another_script_are_known(text: str, script: str | None) -> None:
    assert unreadable_script(text) == script


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("10 km² at 3.14", "10 km² at 3.14"),
        ("Ｈｅｌｌｏ！ ① ②", "Hello! 1 2"),
        ("1" * 15, "1" * 15),
        ("4111111111111111", "4 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1"),
        ("1,000,000", "1,000,000"),
    ],
)
def test_plain_spells_what_the_g2p_cannot_read(text: str, read: str) -> None:
    assert plain(text) == read
