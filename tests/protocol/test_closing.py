"""Close frames."""

import pytest

from antiphon.protocol import CloseCause


@pytest.mark.parametrize("cause", CloseCause)
def test_a_close_frame_can_hold_it(cause: CloseCause) -> None:
    assert cause.code in {1000, 1001, 1003, 1008, 1011, 1012}
    assert 0 < len(cause.reason.encode()) <= 123
    assert cause.when


def test_causes_are_told_apart() -> None:
    assert len({(cause.code, cause.reason) for cause in CloseCause}) == len(CloseCause) == 9
