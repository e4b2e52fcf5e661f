import pytest

from antiphon.scheduling.pace import PlaybackClock


def test_a_clock_that_was_given_nothing_has_no_lead() -> None:
    assert PlaybackClock().lead_s(5.0) == 0.0


def test_the_lead_grows_with_deliveries_and_shrinks_with_time() -> None:
    clock = PlaybackClock()
    clock.delivered(1.0, now=10.0)
    clock.delivered(0.5, now=10.2)
    assert clock.lead_s(10.2) == pytest.approx(1.3)
    assert clock.lead_s(11.0) == pytest.approx(0.5)


def test_a_player_that_ran_dry_starts_again_with_the_next_delivery() -> None:
    clock = PlaybackClock()
    clock.delivered(1.0, now=10.0)
    assert clock.lead_s(20.0) == 0.0
    clock.delivered(1.0, now=20.0)
    assert clock.lead_s(20.0) == pytest.approx(1.0)


def test_what_is_dropped_is_the_end_of_what_was_delivered() -> None:
    clock = PlaybackClock()
    clock.delivered(2.0, now=10.0)
    clock.delivered(1.0, now=10.0)
    clock.dropped(1.0, now=10.5)
    assert clock.lead_s(10.5) == pytest.approx(1.5)


def test_what_has_been_played_cannot_be_dropped() -> None:
    clock = PlaybackClock()
    clock.delivered(2.0, now=10.0)
    clock.dropped(2.0, now=11.5)
    assert clock.lead_s(11.5) == 0.0
    clock.delivered(1.0, now=11.5)
    assert clock.lead_s(11.5) == pytest.approx(1.0)
