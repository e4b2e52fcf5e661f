import pytest

from antiphon.text.characters import TAG
from antiphon.text.tags import TagFilter


def run(text: str) -> list[tuple[str, int]]:
    tags = TagFilter()
    return [out for ch in text for out in tags.take(ch)] + list(tags.release())


@pytest.mark.parametrize(
    "tag", ["<b>", "</b>", "<br/>", '<s r="1.5. x"/>', "<!-- a b -->", "<?xml?>", "<" + "a" * 118 + ">"]
)
def test_a_tag_counts_as_one_character(tag: str) -> None:
    assert run(f"x{tag}.") == [("x", 1), (TAG, len(tag)), (".", 1)]


@pytest.mark.parametrize("text", ["<", "<3>", "< b>", "<b\n>", "<<", "<a", "<é>", "<" + "a" * 119 + ">", "<>"])
def test_anything_else_is_plain_text(text: str) -> None:
    assert run(text) == [(ch, 1) for ch in text]


def test_a_tag_may_begin_where_another_one_failed() -> None:
    assert run("<a<b>") == [("<", 1), ("a", 1), (TAG, 3)]


def test_at_most_the_length_of_a_tag_is_held() -> None:
    tags = TagFilter()
    taken = sum(len(tags.take(ch)) for ch in "<" + "a" * 119)
    assert (taken, tags.holding) == (0, True)
    assert len(tags.take("a")) == 121
    assert not tags.holding
