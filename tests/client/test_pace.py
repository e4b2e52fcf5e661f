"""Text at the pace of a language model."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.client.pace import like_a_model, paced

pytestmark = pytest.mark.anyio


def test_words_keep_the_space_before_them_and_punctuation_stands_alone() -> None:
    assert like_a_model("Hello, extraordinary you!") == ["Hello", ",", " extrao", "rdinar", "y", " you", "!"]


@given(st.text())
def test_nothing_is_lost(text: str) -> None:
    assert "".join(like_a_model(text)) == text


async def test_the_first_token_comes_at_once_and_the_last_when_it_should() -> None:
    loop = asyncio.get_running_loop()
    started = loop.time()
    at = [loop.time() - started async for _ in paced("one two three four five", 50)]
    assert len(at) == 5
    assert at[0] < 0.02
    assert 0.08 <= at[-1] < 0.5


async def test_a_late_reader_is_not_kept_waiting_for_what_is_overdue() -> None:
    loop = asyncio.get_running_loop()
    tokens = paced("one two three four five", 50)
    await anext(tokens)
    await asyncio.sleep(0.1)
    started = loop.time()
    assert len([token async for token in tokens]) == 4
    assert loop.time() - started < 0.05
