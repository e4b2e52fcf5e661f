import resource

import pytest

from antiphon.server.descriptors import RESERVED, most_connections


class System:
    """A process's limits."""

    def __init__(self, soft: int, hard: int, most: int | None = None) -> None:
        self.limits = (soft, hard)
        self.most = most

    def getrlimit(self, _: int) -> tuple[int, int]:
        return self.limits

    def setrlimit(self, _: int, limits: tuple[int, int]) -> None:
        if self.most is not None and limits[0] > self.most:
            raise ValueError
        self.limits = limits


@pytest.mark.parametrize(
    ("soft", "hard", "connections", "soft_after"),
    [
        (1024, 1024 * 1024, 5000, 5000 + RESERVED),
        (1024, resource.RLIM_INFINITY, 5000, 5000 + RESERVED),
        (1024, 2000, 2000 - RESERVED, 2000),
        (5000 + RESERVED, 10_000, 5000, 5000 + RESERVED),
        (resource.RLIM_INFINITY, resource.RLIM_INFINITY, 5000, resource.RLIM_INFINITY),
        (60, 60, 30, 60),
    ],
)
def test_the_limit_is_raised_as_far_as_needed_and_possible(
    soft: int, hard: int, connections: int, soft_after: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    system = System(soft, hard)
    monkeypatch.setattr(resource, "getrlimit", system.getrlimit)
    monkeypatch.setattr(resource, "setrlimit", system.setrlimit)
    assert most_connections(5000) == connections
    assert system.limits == (soft_after, hard)


def test_a_system_that_does_not_raise_it_leaves_what_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    system = System(256, resource.RLIM_INFINITY, most=1000)
    monkeypatch.setattr(resource, "getrlimit", system.getrlimit)
    monkeypatch.setattr(resource, "setrlimit", system.setrlimit)
    assert most_connections(5000) == 256 - RESERVED
