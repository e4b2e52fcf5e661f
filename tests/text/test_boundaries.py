import pytest

from antiphon.text.boundaries import Ask, Run, Strength, Verdict, is_settled, judge, judge_within
from antiphon.text.characters import Mark


def run(text: str) -> Run:
    made = Run()
    for ch in text:
        made.add(ch)
    return made


@pytest.mark.parametrize(
    ("text", "mark", "closed"),
    [
        ("", None, False),
        ('"', None, False),
        (".", Mark.DOT, False),
        ('."', Mark.DOT, True),
        ('".', Mark.DOT, False),
        ("...", Mark.ELLIPSIS, False),
        ("?...", Mark.BANG, False),
        ("...?", Mark.BANG, False),
        ("?!。", Mark.STOP, False),
        (".,", Mark.COMMA, False),
        ('?",', Mark.COMMA, False),
        (",.", Mark.DOT, False),
        ("——", Mark.PAUSE, False),
    ],
)
def test_the_strongest_mark_of_a_run_decides(text: str, mark: Mark | None, closed: bool) -> None:
    made = run(text)
    assert (made.mark, made.closed) == (mark, closed)


@pytest.mark.parametrize(
    ("word", "ending", "verdict"),
    [
        ("word", "", Verdict(Strength.WORD)),
        ("word", '"', Verdict(Strength.WORD)),
        ("word", ",", Verdict(Strength.CLAUSE)),
        ("1", ",", Verdict(Strength.CLAUSE, Ask.NOT_DIGIT, Strength.SPACE)),
        ("word", ".", Verdict(Strength.SENTENCE)),
        ("word", '."', Verdict(Strength.SENTENCE, Ask.NOT_LOWER, Strength.WORD)),
        ("word", "...", Verdict(Strength.SENTENCE, Ask.NOT_LOWER, Strength.CLAUSE)),
        ("3.14", ".", Verdict(Strength.SENTENCE)),
        ("", ".", Verdict(Strength.SENTENCE)),
        ("Dr", ".", Verdict(Strength.SPACE)),
        ("(Dr", ".", Verdict(Strength.SPACE)),
        ("No", ".", Verdict(Strength.SENTENCE, Ask.NOT_DIGIT, Strength.SPACE)),
        ("Inc", ".", Verdict(Strength.SENTENCE, Ask.STARTER, Strength.SPACE)),
        ("J", ".", Verdict(Strength.SENTENCE, Ask.STARTER, Strength.SPACE)),
        ("Dr", "?", Verdict(Strength.SENTENCE)),
    ],
)
def test_judges_the_end_of_a_token(word: str, ending: str, verdict: Verdict) -> None:
    assert judge(word, run(ending), opens_line=False) == verdict


@pytest.mark.parametrize(
    ("word", "strength"),
    [("1", Strength.SPACE), ("**12", Strength.SPACE), ("a", Strength.SPACE), ("1980", Strength.SENTENCE)],
)
def test_the_number_of_a_list_item_ends_nothing(word: str, strength: Strength) -> None:
    assert judge(word, run("."), opens_line=True) == Verdict(strength)


@pytest.mark.parametrize(
    ("before", "ending", "after", "strength"),
    [
        ("a", ".", "a", None),
        ("a", "?", "a", None),
        ("好", "?", "好", Strength.SENTENCE),
        ("好", "。", "a", Strength.SENTENCE),
        ("い", "。」", "と", Strength.CLAUSE),
        ("い", "。", "と", Strength.SENTENCE),
        ("好", "……", "好", Strength.CLAUSE),
        ("t", "…", "w", None),
        ("好", "，", "好", Strength.CLAUSE),
        ("３", "：", "０", None),
        ("a", "—", "b", Strength.CLAUSE),
        ("a", "", "b", None),
    ],
)
def test_judges_a_run_that_no_whitespace_follows(
    before: str, ending: str, after: str, strength: Strength | None
) -> None:
    assert judge_within(run(ending), before, after) is strength


@pytest.mark.parametrize(
    ("word", "ending", "settled"),
    [
        ("word", ".", True),
        ("5", "?", True),
        ("3", ".", False),
        ("3", ".)", True),
        ("www.example", ".", False),
        ("a@b", ".", False),
        ("word", "", False),
    ],
)
def test_a_run_is_settled_when_nothing_it_could_be_part_of_goes_on(word: str, ending: str, settled: bool) -> None:
    assert is_settled(word, run(ending)) is settled
