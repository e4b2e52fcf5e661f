from collections.abc import Callable

import pytest

from antiphon.text.units import Unit

Tiling = Callable[[str, list[Unit]], None]


def _assert_tiles(text: str, units: list[Unit]) -> None:
    position = 0
    for unit in units:
        assert unit.start == position
        assert unit.text == text[unit.start : unit.end].strip() != ""
        position = unit.end
    assert text[position:].strip() == ""


@pytest.fixture(scope="session")
def assert_tiles() -> Tiling:
    """Assert that the units cover the text: in order, nothing lost, nothing doubled."""
    return _assert_tiles
