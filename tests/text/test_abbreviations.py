import pytest

from antiphon.text import abbreviations
from antiphon.text.abbreviations import is_dotted, starts_sentence


def test_each_abbreviation_has_one_meaning_and_is_written_as_it_is_looked_up() -> None:
    tables = [abbreviations.INTRODUCING, abbreviations.NUMBERING, abbreviations.CLOSING]
    every = [word for table in tables for word in table]
    assert len(every) == len(set(every))
    assert all(word == word.lower() and not word.endswith(".") for word in every)


@pytest.mark.parametrize("word", ["U.S", "J.K", "z.B", "f.p.s", "Ph.D", "т.е"])
def test_letters_between_stops_are_dotted(word: str) -> None:
    assert is_dotted(word)


@pytest.mark.parametrize("word", ["U", "3.14", "v1.2", "example.com", "U.S.", "a.b@c.d", ""])
def test_other_words_are_not_dotted(word: str) -> None:
    assert not is_dotted(word)


@pytest.mark.parametrize(("word", "starts"), [("The", True), ("the", False), ("Smith", False), ("", False)])
def test_only_a_word_with_a_capital_that_is_no_name_starts_a_sentence(word: str, starts: bool) -> None:
    assert starts_sentence(word) is starts
