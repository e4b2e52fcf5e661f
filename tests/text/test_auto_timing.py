"""When text comes out because of the time: the first unit late, and whole units that are held back."""

import pytest

from antiphon.text.auto import AutoOptions, AutoSegmenter
from antiphon.text.units import Unit

TOKENS = ["Hello", ",", " how", " are", " you", "?", " I", " am", " a", " model", ".", " Ask", " me"]


@pytest.fixture
def segmenter() -> AutoSegmenter:
    return AutoSegmenter(AutoOptions(max_buffer_delay_ms=500))


def texts(units: list[Unit]) -> list[str]:
    return [unit.text for unit in units]


def test_at_the_pace_of_a_language_model_units_come_with_the_next_token(segmenter: AutoSegmenter) -> None:
    came = {}
    for i, token in enumerate(TOKENS):
        for unit in segmenter.feed(token, i / 30):
            came[unit.text] = token
    assert came == {"Hello, how are you?": " I", "I am a model.": " Ask"}


def test_a_late_first_unit_ends_between_words(segmenter: AutoSegmenter) -> None:
    assert segmenter.feed("The answer to this ques", 10.0) == []
    assert segmenter.next_deadline is None  # 18 characters are not worth a cut
    assert segmenter.feed("tion is", 10.2) == []
    assert segmenter.next_deadline == 10.5
    assert segmenter.poll(10.499) == []
    assert segmenter.poll(10.5) == [Unit("The answer to this question", 0, 27)]
    assert segmenter.next_deadline is None


def test_a_first_unit_that_is_late_already_goes_with_the_next_word(segmenter: AutoSegmenter) -> None:
    segmenter.feed("The ", 0.0)
    assert segmenter.poll(0.5) == []
    assert segmenter.feed("answer to this question", 0.9) == []
    assert texts(segmenter.feed(" is", 1.0)) == ["The answer to this question"]


def test_the_time_before_the_first_visible_character_does_not_count(segmenter: AutoSegmenter) -> None:
    segmenter.feed("\n ", 0.0)
    assert segmenter.feed("The answer to this question is", 3.0) == []
    assert segmenter.next_deadline == 3.5


def test_a_late_first_unit_prefers_what_seems_complete_to_a_word(segmenter: AutoSegmenter) -> None:
    segmenter.feed("Let me check that for you", 0.0)
    segmenter.feed(".", 0.3)
    assert segmenter.next_deadline == 0.5
    assert texts(segmenter.poll(0.5)) == ["Let me check that for you."]
    assert segmenter.next_deadline is None


def test_a_late_first_unit_does_not_end_at_an_abbreviation(segmenter: AutoSegmenter) -> None:
    segmenter.feed("I am going to see Doctor or Dr. Smi", 0.0)
    assert texts(segmenter.poll(0.5)) == ["I am going to see Doctor or"]


def test_later_units_do_not_end_between_words(segmenter: AutoSegmenter) -> None:
    segmenter.feed("Hi. The answer to this question, as I see it, is that", 0.0)
    assert segmenter.next_deadline is None
    assert segmenter.poll(99.0) == []


def test_a_short_sentence_waits_for_the_next_one_but_not_for_long(segmenter: AutoSegmenter) -> None:
    segmenter.feed("Hi. ", 0.0)
    assert segmenter.feed("Yes. ", 1.0) == []
    assert segmenter.feed("And then", 1.4) == []
    assert segmenter.next_deadline == 1.5
    assert segmenter.poll(1.5) == [Unit("Yes.", 3, 8)]
    assert segmenter.flush() == [Unit("And then", 8, 17)]


def test_a_late_call_does_not_need_a_poll(segmenter: AutoSegmenter) -> None:
    segmenter.feed("Hi. Yes. ", 0.0)
    assert texts(segmenter.feed("And then", 0.7)) == ["Yes."]


@pytest.mark.parametrize(
    "tail", ["Let me check that.", "Let me see...", "Really?!", "Is it 5?", "好的。", "He left etc. "]
)
def test_a_stop_at_the_end_of_a_stalled_stream_ends_the_unit(segmenter: AutoSegmenter, tail: str) -> None:
    segmenter.feed("Hi. ", 0.0)
    assert segmenter.feed(tail, 1.0) == []
    assert segmenter.next_deadline == 1.5
    assert texts(segmenter.poll(1.5)) == [tail.strip()]


@pytest.mark.parametrize(
    "tail",
    [
        "It costs $3.",
        "See www.example.",
        "Ask Dr.",
        "He is No.",
        "In the U.",
        "at 9 a.m.",
        "As I said,",
        "<b",
        "in 1980,",
    ],
)
def test_a_stop_that_may_not_be_one_waits_however_long_the_stream_stalls(segmenter: AutoSegmenter, tail: str) -> None:
    segmenter.feed("Hi. ", 0.0)
    segmenter.feed(tail, 1.0)
    assert segmenter.next_deadline is None
    assert segmenter.poll(99.0) == []
    assert texts(segmenter.flush()) == [tail]


def test_a_doubtful_stop_ends_the_unit_when_the_stream_stalls_behind_it(segmenter: AutoSegmenter) -> None:
    segmenter.feed("We start at 9 a.m. ", 0.0)
    assert segmenter.next_deadline == 0.5
    assert texts(segmenter.poll(0.5)) == ["We start at 9 a.m."]


def test_a_short_clause_is_spoken_when_the_stream_stalls_behind_it(segmenter: AutoSegmenter) -> None:
    segmenter.feed("Well, ", 0.0)
    assert texts(segmenter.poll(0.5)) == ["Well,"]


def test_text_that_goes_on_in_time_keeps_a_number_whole(segmenter: AutoSegmenter) -> None:
    segmenter.feed("Hi. Pi is more than three", 0.0)
    segmenter.feed(".", 0.4)
    assert segmenter.next_deadline == 0.9
    assert segmenter.feed("x", 0.8) == []
    assert segmenter.next_deadline is None


def test_what_follows_a_cut_at_a_stall_is_not_lost(segmenter: AutoSegmenter) -> None:
    segmenter.feed("Wait for it.", 0.0)
    assert segmenter.poll(0.5) == [Unit("Wait for it.", 0, 12)]
    assert segmenter.feed('" Here it comes. ', 1.0) == [Unit('" Here it comes.', 12, 28)]


def test_without_a_delay_nothing_that_seems_complete_is_held() -> None:
    segmenter = AutoSegmenter(AutoOptions(max_buffer_delay_ms=0))
    assert texts(segmenter.feed("Hi.", 0.0)) == ["Hi."]
    assert segmenter.next_deadline is None
