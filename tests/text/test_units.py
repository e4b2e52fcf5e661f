import dataclasses

import pytest

from antiphon.text.units import Unit


def test_a_unit_cannot_be_changed() -> None:
    unit = Unit("Hi.", 0, 3)
    with pytest.raises(dataclasses.FrozenInstanceError):
        unit.end = 4  # type: ignore[misc]  # what the test is about


@pytest.mark.parametrize(
    ("text", "speakable"),
    [("Hi.", True), ("5", True), ("好", True), ("नमस्ते", True), ("🎉", False), ("---", False), ("...", False)],
)
def test_a_unit_is_speakable_when_it_has_a_letter_or_a_digit(text: str, speakable: bool) -> None:
    assert Unit(text, 0, len(text)).speakable is speakable
