import pytest

from antiphon.text.characters import MARKS, TAG, Mark, after_wide, is_closer, is_wide, speech_length


@pytest.mark.parametrize("ch", ["'", "”", ")", "」", "*", "🎉", "🏽", "\u200d", "\ufe0f", TAG])
def test_closers_belong_to_the_stop_before_them(ch: str) -> None:
    assert is_closer(ch)


@pytest.mark.parametrize("ch", ["a", "1", "(", "“", "「", "好", "ि", "-", "/", "$"])
def test_anything_else_begins_something_new(ch: str) -> None:
    assert not is_closer(ch)


def test_a_mark_is_not_a_closer_as_well() -> None:
    assert not any(is_closer(ch) for ch in MARKS)
    assert MARKS["."] is Mark.DOT


@pytest.mark.parametrize(
    ("ch", "wide"), [("好", True), ("の", True), ("한", True), ("a", False), ("。", False), ("न", False)]
)
def test_wide_characters_are_letters_of_scripts_without_spaces(ch: str, wide: bool) -> None:
    assert is_wide(ch) is wide


@pytest.mark.parametrize(("word", "end"), [("作者是J.K", "J.K"), ("Dr", "Dr"), ("你好", "")])
def test_the_end_of_a_word_begins_behind_its_last_wide_character(word: str, end: str) -> None:
    assert after_wide(word) == end


@pytest.mark.parametrize(("text", "length"), [("Hello.", 6), ("你好。", 7), ("", 0)])
def test_an_ideograph_takes_as_long_as_three_letters(text: str, length: int) -> None:
    assert speech_length(text) == length
