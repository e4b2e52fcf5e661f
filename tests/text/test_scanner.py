import pytest

from antiphon.text.boundaries import Strength
from antiphon.text.scanner import Break, Scanner


def breaks(text: str) -> list[Break]:
    scanner = Scanner()
    return [found for ch in text for found in scanner.take(ch)] + list(scanner.end())


def test_reports_places_with_their_strength_and_what_was_said_before_them() -> None:
    assert breaks("Dr. Li, then. <b>1</b>\n") == [
        Break(3, Strength.SPACE, 2),
        Break(7, Strength.CLAUSE, 4),
        Break(13, Strength.SENTENCE, 8),
        Break(22, Strength.WORD, 9),
        Break(22, Strength.LINE, 9),
    ]


@pytest.mark.parametrize(
    ("text", "strength"),
    [
        ("At 9 a.m. The", Strength.SENTENCE),
        ("At 9 a.m. Monday", Strength.SPACE),
        ("At 9 a.m. the", Strength.SPACE),
        ('At 9 a.m. "The', Strength.SPACE),
        ("No. 5", Strength.SPACE),
        ("No. I", Strength.SENTENCE),
        ("Wait... no", Strength.CLAUSE),
        ("Wait... No", Strength.SENTENCE),
        ("Oh (no!) no", Strength.WORD),
    ],
)
def test_what_follows_decides_a_doubt(text: str, strength: Strength) -> None:
    assert breaks(text)[-1].strength is strength


def test_positions_count_the_characters_of_tags() -> None:
    assert breaks("<b>Hi</b>. ") == [Break(10, Strength.SENTENCE, 2)]


def test_what_looked_like_a_tag_is_read_when_it_is_none() -> None:
    assert breaks("a <b. c") == [Break(1, Strength.WORD, 1), Break(5, Strength.SENTENCE, 2)]


def test_a_guess_is_not_a_finding() -> None:
    scanner = Scanner()
    for ch in "Wait.":
        assert scanner.take(ch) == ()
    assert scanner.guess() == Break(5, Strength.SENTENCE, 4)
    assert scanner.take("n") == ()
    assert scanner.guess() is None


def test_of_a_long_token_only_its_beginning_is_kept() -> None:
    scanner = Scanner()
    for ch in "a...." * 1_000:
        scanner.take(ch)
    assert scanner._token is not None
    assert len(scanner._token.word) <= 52
