import pytest

from antiphon.cli.words import in_words, printable, suggestion


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Grüße, 你好 👩‍👧\n\tindented", "Grüße, 你好 👩‍👧\n\tindented"),
        ("\x1b[2J\x07\x9b1m\r", r"\x1b[2J\x07\x9b1m\r"),
        ("half \ud83d", r"half \ud83d"),
    ],
)
def test_what_a_terminal_would_obey_is_spelled_out(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_an_error_of_the_system_has_a_name_and_no_number() -> None:
    assert in_words(FileNotFoundError(2, "No such file or directory", "x.wav")) == "x.wav: No such file or directory"
    assert in_words(OSError(28, "No space left on device")) == "No space left on device"
    assert in_words(OSError("only words")) == "only words"
    assert in_words(ValueError("a value")) == "a value"


def test_a_name_is_suggested_when_one_is_near() -> None:
    assert suggestion("Hibary", ["hibari", "tone"]) == "; did you mean hibari?"
    assert suggestion("nobody", ["hibari", "tone"]) == ""
