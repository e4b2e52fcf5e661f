"""How much peers may have."""

from antiphon.emulator.runtime.budget import Budget, Room


def test_as_many_at_once_as_there_is_room_for() -> None:
    budget = Budget(capacity=3, per_s=1)
    assert [budget.spend(100.0) for _ in range(4)] == [True, True, True, False]


def test_time_gives_back_what_was_spent_and_no_more() -> None:
    budget = Budget(capacity=2, per_s=1)
    assert [budget.spend(0.0), budget.spend(0.0)] == [True, True]
    assert [budget.spend(1.0), budget.spend(1.0)] == [True, False]
    assert [budget.spend(1000.0) for _ in range(3)] == [True, True, False]


def test_room_is_shared_and_given_back() -> None:
    room = Room(10)
    assert [room.change(6), room.change(4), room.change(1)] == [True, True, False]
    assert room.change(-1)
