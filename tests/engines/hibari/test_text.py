import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.engines.hibari.text import (
    MAX_ATOMS,
    MAX_CHARACTERS,
    MAX_PHONEMES,
    blocks,
    phoneme_runs,
    pieces,
    plain,
    sounds,
    unreadable_script,
)

SHORTENED = 3  # what is left of a run


@given(st.text(max_size=3000) | st.text("ab5- .\n", max_size=3000))
def test_blocks_lose_no_sound_and_keep_the_limit(text: str) -> None:
    parts = list(blocks(text))
    assert list(filter(str.isalnum, "".join(parts))) == list(filter(str.isalnum, text))
    assert all(0 < len(part) < MAX_CHARACTERS + SHORTENED for part in parts)


@pytest.mark.parametrize("sign", ['"', "-", ".", "'", "=", " ", "\n", "\u0301", "\U0001f600"])
def test_a_run_of_one_sign_is_shortened_and_splits_no_block(sign: str) -> None:
    assert list(blocks(f"Ah{sign * 8}b")) == [f"Ah{sign * 8}b"]
    assert list(blocks(f"Ah{sign * 9}b")) == [f"Ah{sign * 3}b"]
    assert "".join(blocks(f"Ah{sign * 1000}b"))[:5] == f"Ah{sign * 3}"
    assert len(list(blocks(f"Ah{sign * 100_000}b"))) == 2


@pytest.mark.parametrize("text", ["", "...", "\"'-" * 300_000, ". " * 500_000, "\n" * 1_000_000])
def test_what_makes_no_sound_is_no_block(text: str) -> None:
    assert list(blocks(text)) == []
    assert len(list(blocks(f"{text}a"))) <= 2


@pytest.mark.parametrize("sign", list("#%&+/<=>@^~©±½№％ⓐ5éß"))
def test_signs_that_are_read_aloud_sound(sign: str) -> None:
    assert sounds(sign)


@pytest.mark.parametrize("sign", list("\"'-—…*|_\\()[]{}$•\u200b\u0301\U0001f600"))
def test_signs_that_only_shape_their_neighbours_do_not(sign: str) -> None:
    assert not sounds(sign)


@given(st.text(max_size=1000) | st.text("aB5-' ", max_size=1000))
def test_pieces_lose_nothing(sentence: str) -> None:
    assert "".join(pieces(sentence)).replace(" ", "") == "".join(sentence.split())


ORDINARY = (
    "It is the best of times, it is the worst of times, it is the age of wisdom, it is the age of foolishness, " * 5
)


@pytest.mark.parametrize(
    "sentence",
    [
        "",
        ORDINARY.strip(),
        "Send an e-mail about a well-known, state-of-the-art, rock-'n'-roll mother-in-law.",
        '“Well,” she said, ‘wait...’ and—then—left… "No!"',
        "https://www.example.com/docs/page?x=1 on 2024-03-05 at 7:30:15, 555-867-5309, $1,234,567.89",
        "antidisestablishmentarianism ANTIDISESTABLISHMENTARIANISM",
    ],
)
def test_an_ordinary_sentence_is_one_piece_as_it_is(sentence: str) -> None:
    assert list(pieces(sentence)) == [sentence]


@pytest.mark.parametrize("word", ["e-", "a.5", "aB", "''", "5e", "ABa", "\u0301", "x'", "/:"])
def test_a_word_of_many_parts_is_cut_into_words(word: str) -> None:
    parts = " ".join(pieces(word * 500)).split()
    assert "".join(parts) == word * 500
    assert max(map(len, parts)) <= len(word) * MAX_ATOMS


def test_a_sentence_of_too_many_words_is_cut_between_them() -> None:
    parts = list(pieces("xq " * 1000))
    assert len({len(part) for part in parts[:-1]}) == 1
    assert 100 <= len(parts[0].split()) <= 200


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
        ("猫" * 5001 + "a" * 1_000_000, "CJK"),
        ("a" * 10_000 + "猫" * 1_000_000, None),
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
        ("a" * 45, "a" * 45),
        ("a" * 46, f"{'a' * 24} {'a' * 22}"),
    ],
)
def test_plain_spells_what_the_g2p_cannot_read(text: str, read: str) -> None:
    assert plain(text) == read
