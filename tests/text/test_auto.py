import pytest

from antiphon.text.auto import AutoOptions, AutoSegmenter
from antiphon.text.units import Unit

SENTENCES = {
    "title": ("Dr. Smith called. Mr. Jones did not.", ["Dr. Smith called.", "Mr. Jones did not."]),
    "decimal": ("Pi is about 3.14 and more. That is enough.", ["Pi is about 3.14 and more.", "That is enough."]),
    "thousands": ("It holds 1,000,000 items. No more fit in.", ["It holds 1,000,000 items.", "No more fit in."]),
    "number ends a sentence": ("It costs $3.14. Take two of them.", ["It costs $3.14.", "Take two of them."]),
    "year ends a sentence": ("Born on Jan 1, 1980. Died much later.", ["Born on Jan 1, 1980.", "Died much later."]),
    "abbreviated month": ("We met on Jan. 1 in Rome. It rained.", ["We met on Jan. 1 in Rome.", "It rained."]),
    "latin": ("Eat fruit, e.g. apples, i.e. this one. Good!", ["Eat fruit, e.g. apples, i.e. this one.", "Good!"]),
    "country within": ("The U.S. Government paid. It was late.", ["The U.S. Government paid.", "It was late."]),
    "country at the end": ("She lives in the U.S. The coast is near.", ["She lives in the U.S.", "The coast is near."]),
    "hour within": ("Be there at 9 a.m. Monday or later. Thanks.", ["Be there at 9 a.m. Monday or later.", "Thanks."]),
    "hour at the end": ("We start at 9:30 a.m. Then we eat.", ["We start at 9:30 a.m.", "Then we eat."]),
    "company within": ("Acme Inc. sold it to Foo Ltd. yesterday. Done.", ["Acme Inc. sold it to Foo Ltd. yesterday.", "Done."]),
    "company at the end": ("He works at Acme Inc. He likes it.", ["He works at Acme Inc.", "He likes it."]),
    "number five": ("He is No. 5 on the list. I know.", ["He is No. 5 on the list.", "I know."]),
    "the answer no": ("I have to say no. It will not work.", ["I have to say no.", "It will not work."]),
    "initials": ("J. R. R. Tolkien and J.K. Rowling. Both write.", ["J. R. R. Tolkien and J.K. Rowling.", "Both write."]),
    "letter at the end": ("We move on to plan B. It is better.", ["We move on to plan B.", "It is better."]),
    "and so on": ("Bring pens, paper etc. and wait. Etc. is vague.", ["Bring pens, paper etc. and wait.", "Etc. is vague."]),
    "ellipsis within": ("Wait... what? I did not hear it.", ["Wait... what?", "I did not hear it."]),
    "ellipsis at the end": ("I am not so sure... Let me look.", ["I am not so sure...", "Let me look."]),
    "ellipsis character": ("I am not… well, sure… Let me look.", ["I am not… well, sure…", "Let me look."]),
    "run of marks": ("You did what?! I cannot believe it!!!", ["You did what?!", "I cannot believe it!!!"]),
    "quote goes on": ('"Are you sure?" she asked. "I am not."', ['"Are you sure?" she asked.', '"I am not."']),
    "quote ends": ("He said “I am here.” Nobody answered.", ["He said “I am here.”", "Nobody answered."]),
    "brackets": ("It works. (We tested it twice.) So use it.", ["It works.", "(We tested it twice.)", "So use it."]),
    "url": ("See https://x.org/a.b?c=d. It has it all.", ["See https://x.org/a.b?c=d.", "It has it all."]),
    "e-mail": ("Write to a.b@x.org. We will answer.", ["Write to a.b@x.org.", "We will answer."]),
    "version and file": ("Use v1.2.3. It reads notes.txt. Then it stops.", ["Use v1.2.3.", "It reads notes.txt.", "Then it stops."]),
    "markdown": ("This is **bold.** Next comes *more.* And the end.", ["This is **bold.**", "Next comes *more.*", "And the end."]),
    "tag": ('<speed ratio="1.05"/> Go on. <b>Be brave now.</b> Yes.', ['<speed ratio="1.05"/> Go on.', "<b>Be brave now.</b>", "Yes."]),
    "not a tag": ("I <3 you. And x < y. Then a<b is true. ok", ["I <3 you.", "And x < y. Then a<b is true.", "ok"]),
    "list": ("To buy:\n1. Eggs\n2. Milk\n- tea\n\nThat is all.", ["To buy:", "1. Eggs", "2. Milk", "- tea", "That is all."]),
    "lines": ("First line\nsecond line\r\nthird", ["First line", "second line", "third"]),
    "wrapped line": (
        "A paragraph that was wrapped at some column\ngoes on here. But a heading of some length ends\n\nhere",
        ["A paragraph that was wrapped at some column\ngoes on here.", "But a heading of some length ends", "here"],
    ),
    "long lines": (
        "- the first item of a list with long lines\n- the second item of that list\nAnd the text goes on.",
        ["- the first item of a list with long lines", "- the second item of that list", "And the text goes on."],
    ),
    "stop at the end of a line": (
        "This line is long enough to be a wrapped one. \nbut it ends with a stop",
        ["This line is long enough to be a wrapped one.", "but it ends with a stop"],
    ),
    "chinese": ("你好。我叫小明，今年十八岁！你在哪里工作？好", ["你好。", "我叫小明，今年十八岁！", "你在哪里工作？", "好"]),
    "chinese with latin": ("作者是J.K. Rowling写的。价格是23.5元。", ["作者是J.K. Rowling写的。", "价格是23.5元。"]),
    "chinese with ascii marks": ("你今天过得好吗?我很好!谢谢", ["你今天过得好吗?", "我很好!谢谢"]),
    "japanese": ("今日は晴れです。「はい。」と言った。「いいえ。」彼は黙った。", ["今日は晴れです。", "「はい。」と言った。", "「いいえ。」", "彼は黙った。"]),
    "hindi": ("नमस्ते। आप कैसे हैं? मैं ठीक हूँ।", ["नमस्ते।", "आप कैसे हैं?", "मैं ठीक हूँ।"]),
    "arabic": ("مرحبا بكم جميعا. كيف حالك اليوم؟ أنا بخير.", ["مرحبا بكم جميعا.", "كيف حالك اليوم؟", "أنا بخير."]),
    "emoji": ("That is great!🎉 Let us go on 🚀🚀. Good", ["That is great!🎉", "Let us go on 🚀🚀.", "Good"]),
    "emoji alone": ("That is great! 🎉 Let us go on.", ["That is great!", "🎉 Let us go on."]),
    "dashes alone": ("The first part.\n---\nThe second part.", ["The first part.", "---\nThe second part."]),
    "short ones": ("Let us begin. Yes. No. I do not know yet.", ["Let us begin.", "Yes. No. I do not know yet."]),
    "short first": ("Hi. How are you today?", ["Hi.", "How are you today?"]),
}  # fmt: skip

FIRST_CLAUSES = {
    "long enough": ("If you want to, we can, of course, go.", ["If you want to, we can,", "of course, go."]),
    "date": ("It began on January 1, 1980, they say.", ["It began on January 1, 1980,", "they say."]),
    "chinese": ("如果你愿意的话，我们可以去。好，走吧。", ["如果你愿意的话，", "我们可以去。", "好，走吧。"]),
    "dash": ("There is one thing — time — that we lack.", ["There is one thing —", "time — that we lack."]),
    "em dash without spaces": ("There is only one thing—time. Use it.", ["There is only one thing—", "time. Use it."]),
}  # fmt: skip


def texts(units: list[Unit]) -> list[str]:
    return [unit.text for unit in units]


@pytest.mark.parametrize(("text", "expected"), SENTENCES.values(), ids=SENTENCES.keys())
def test_cuts_where_a_reader_would_pause(text: str, expected: list[str]) -> None:
    segmenter = AutoSegmenter(AutoOptions(first_min_chars=600))  # the first unit is long enough at a sentence only
    assert texts(segmenter.feed(text, 0.0) + segmenter.flush()) == expected


@pytest.mark.parametrize(("text", "expected"), FIRST_CLAUSES.values(), ids=FIRST_CLAUSES.keys())
def test_the_first_unit_may_end_at_a_clause(text: str, expected: list[str]) -> None:
    segmenter = AutoSegmenter()
    assert texts(segmenter.feed(text, 0.0) + segmenter.flush()) == expected


@pytest.mark.parametrize(
    ("before", "decisive", "unit"),
    [
        ("Hello, how are you?", " I", "Hello, how are you?"),
        ("Hello, how are you?", " ", "Hello, how are you?"),
        ("It costs $3.14.", " ", "It costs $3.14."),
        ("你好。", "我", "你好。"),
        ("你好。」", "我", "你好。」"),
        ("नमस्ते।", " ", "नमस्ते।"),
        ("It is so good, that", " ", None),
        ("It is as good as that,", " ", "It is as good as that,"),
        ("Dr.", " ", None),
        ("Wait...", " ", None),
        ("Wait... ", "N", "Wait..."),
        ("Wait... ", "n", None),
        ("By 9 p.m. The", " ", "By 9 p.m."),
        ("A heading", "\n", "A heading"),
        ("A line that may be wrapped at some column", "\n", None),
        ("A line that may be wrapped at some column\n", "N", "A line that may be wrapped at some column"),
        ("A line that may be wrapped at some column\n", "\n", "A line that may be wrapped at some column"),
    ],
)
def test_a_unit_comes_with_the_character_that_makes_it_certain(before: str, decisive: str, unit: str | None) -> None:
    segmenter = AutoSegmenter()
    assert segmenter.feed(before, 0.0) == []
    assert texts(segmenter.feed(decisive, 0.0)) == ([unit] if unit else [])


def test_whitespace_between_units_belongs_to_the_second_and_at_the_end_to_the_last() -> None:
    segmenter = AutoSegmenter()
    assert segmenter.feed("\n One is here.  Two is ", 0.0) == [Unit("One is here.", 0, 14)]
    assert segmenter.flush() == [Unit("Two is", 14, 23)]


def test_whitespace_behind_the_last_unit_belongs_to_none() -> None:
    segmenter = AutoSegmenter()
    assert segmenter.feed("One. ", 0.0) == [Unit("One.", 0, 4)]
    assert segmenter.flush() == []
    assert segmenter.feed(" \n\t", 0.0) + segmenter.flush() == []


def test_a_flush_begins_a_new_text() -> None:
    segmenter = AutoSegmenter()
    segmenter.feed("The first text is here. It ends with Dr.", 0.0)
    segmenter.flush()
    assert segmenter.feed("If you want to go, go. ", 9.0) == [Unit("If you want to go, go.", 0, 22)]
    assert segmenter.flush() == []


def test_what_cannot_be_spoken_and_follows_the_last_unit_is_a_unit_that_says_so() -> None:
    segmenter = AutoSegmenter()
    units = segmenter.feed("Great! 🎉", 0.0) + segmenter.flush()
    assert [(unit.text, unit.speakable) for unit in units] == [("Great!", True), ("🎉", False)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a" * 25, ["a" * 10, "a" * 10, "a" * 5]),
        ("aaaa bbbb cccc dd", ["aaaa bbbb", "cccc dd"]),
        ("aaaaaa, bb cc", ["aaaaaa,", "bb cc"]),
        ("a, bbbb cccccc", ["a, bbbb", "cccccc"]),
        ("a bbbbbbbbbbbb", ["a", "bbbbbbbbbb", "bb"]),
        ("aaaaa bbbb ccc", ["aaaaa bbbb", "ccc"]),
        ("Dr. aaaaaaa bb", ["Dr.", "aaaaaaa bb"]),
        ("-" * 12, ["-" * 10, "--"]),
        ("a" + " " * 30 + "b", ["a", "b"]),
    ],
)
def test_the_cap_cuts_at_the_best_place_before_it(text: str, expected: list[str]) -> None:
    segmenter = AutoSegmenter(AutoOptions(max_chars=10, first_min_chars=10, min_chars=1))
    segmenter._is_first = False
    assert texts(segmenter.feed(text, 0.0) + segmenter.flush()) == expected


def test_at_most_a_cap_of_text_is_held() -> None:
    segmenter = AutoSegmenter()
    for _ in range(1_000):
        segmenter.feed("wo<rd, - ( ", 0.0)
        assert len(segmenter._text) <= AutoOptions().max_chars + 1


@pytest.mark.parametrize(
    "options",
    [{"max_buffer_delay_ms": -1}, {"max_chars": 0}, {"max_chars": 19}, {"min_chars": 601}],
)
def test_options_that_contradict_themselves_are_refused(options: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="max_"):
        AutoOptions(**options)
