"""Time-outs and the read-ahead bound."""

import json

import pytest
from tests.protocol.driver import CLOSE, CONFIG, DONE, Driver, configured, message, text

from antiphon.protocol import DIALECT_0_30, Limits
from antiphon.protocol.events import CloseConnection, CutOff, OutputSent, Shutdown

# Time-outs. The driver's clock starts at 1000 s.


def test_a_config_must_come_in_time() -> None:
    driver = Driver()
    assert driver.session.next_deadline == 1010
    assert driver.wait(9.99).take() == []
    assert driver.wait(0.01).take() == [
        {"type": "error", "message": "Timeout waiting for session.config"},
        CloseConnection(1008, "timeout waiting for session.config"),
    ]
    assert driver.session.closed
    assert driver.session.next_deadline is None


def test_an_idle_session_ends() -> None:
    driver = configured()
    assert driver.session.next_deadline == 1030
    assert driver.wait(29.99).take() == []
    assert driver.wait(0.01).take() == [
        {"type": "error", "message": "Idle timeout: no message received"},
        CloseConnection(1001, "idle timeout"),
    ]
    assert driver.session.closed


@pytest.mark.parametrize("frame", [text(""), text("a"), message("ping"), "{", json.dumps(CONFIG)])
def test_any_message_resets_the_idle_timer(frame: str) -> None:
    driver = configured().wait(20)
    driver.client(frame)
    assert driver.session.next_deadline == 1050


def test_the_idle_timer_stands_still_while_a_unit_plays_and_starts_anew_after_it() -> None:
    driver = configured().client(text("One. Two. "))
    assert driver.session.next_deadline is None
    driver.wait(500).complete()
    assert driver.session.next_deadline is None
    driver.wait(500).fail()
    assert driver.session.next_deadline == 2030
    driver.wait(29).client(text(""))
    assert driver.session.next_deadline == 2059


def test_the_idle_timer_stands_still_until_the_client_has_taken_what_was_sent() -> None:
    driver = configured(response_format="wav", stream_audio=False).client(text("One. "))
    driver.takes = False
    driver.audio(b"RIFF").complete()
    assert driver.session.next_deadline is None
    driver.wait(500)
    assert driver.take_errors() == []
    driver.deliver(OutputSent())
    assert driver.session.next_deadline == 1530
    driver.now += 20
    driver.deliver(OutputSent())
    assert driver.session.next_deadline == 1530, "nothing was sent"


def test_a_reply_that_is_not_taken_stops_the_idle_timer_too() -> None:
    driver = configured()
    driver.takes = False
    driver.client("{")
    assert driver.session.next_deadline is None


def test_no_timer_runs_while_closing() -> None:
    driver = configured().client(text("One."), CLOSE)
    assert driver.session.next_deadline is None
    driver.wait(1000)
    assert driver.take_errors() == []


def test_the_time_of_an_ignored_event_does_not_count() -> None:
    driver = configured()
    driver.now = 1020
    driver.audio(b"ab").complete().fail()
    assert driver.session.next_deadline == 1030


# Shutdown.

GONE = CloseConnection(1001, "server is shutting down")


def test_a_shutdown_ends_what_is_idle_at_once() -> None:
    for driver in (Driver(), configured()):
        driver.deliver(Shutdown())
        assert driver.take() == [GONE]


def test_a_shutdown_lets_speech_end_and_ignores_what_comes_later() -> None:
    driver = configured().client(text("One."), DONE)
    driver.deliver(Shutdown())
    driver.client(text("Two."), DONE)
    driver.take()
    _, session_done, closing = driver.complete().take()
    assert isinstance(session_done, dict)
    assert (session_done["type"], closing) == ("session.done", GONE)
    assert len(driver.prepared) == 1


def test_a_shutdown_waits_for_the_utterance_in_progress() -> None:
    driver = configured().client(text("One"))
    driver.deliver(Shutdown())
    assert driver.take() == []
    assert driver.client(text(" two"), DONE).complete().take()[-1] == GONE
    assert [unit.text for unit in driver.prepared] == ["One two"]


def test_a_shutdown_does_not_replace_the_clients_close() -> None:
    driver = configured().client(text("One."), CLOSE)
    driver.deliver(Shutdown())
    assert driver.complete().take()[-1] == CloseConnection(1000, "session.close")


CUT = CloseConnection(1012, "server is shutting down and could not wait")


def test_a_cut_off_drops_what_is_spoken_and_what_waits() -> None:
    for last in (DONE, CLOSE):
        driver = configured().client(text("One. Two."), last)
        driver.deliver(Shutdown())
        driver.take()
        driver.deliver(CutOff())
        assert driver.take() == [CUT]
        assert driver.aborted
        assert driver.session.closed
        assert driver.audio(b"ab").complete().take() == []


def test_a_cut_off_ends_what_is_idle_too() -> None:
    for driver in (Driver(), configured(), configured().client(text("One"))):
        driver.deliver(CutOff())
        assert driver.take() == [CUT]


# The read-ahead bound.


def test_reading_stops_at_the_unit_bound_and_goes_on_at_a_quarter() -> None:
    driver = configured(limits=Limits(max_pending_units=8))
    readings = []
    for _ in range(8):
        readings.append(driver.session.reading)
        driver.client(text("A."))
    assert readings == [True] * 8
    readings = []
    while driver.playing is not None:
        readings.append(driver.session.reading)
        driver.complete()
    assert readings == [False] * 6 + [True] * 2


def test_one_message_may_overshoot_the_bound() -> None:
    driver = configured(limits=Limits(max_pending_units=2)).client(text("A." * 5))
    assert not driver.session.reading
    for _ in range(5):
        driver.complete()
    assert len(driver.prepared) == 5


def test_only_the_playing_unit_and_two_more_are_prepared_whatever_waits() -> None:
    driver = configured().client(text("A." * 1000), DONE, text("B."), DONE)
    for playing in range(1001):
        assert driver.playing == playing
        assert [unit.unit_id for unit in driver.prepared] == list(range(min(playing + 3, 1001)))
        driver.fail() if playing % 2 else driver.complete()
    assert driver.prepared[-1].text == "B."


def test_reading_stops_at_the_character_bound() -> None:
    config_chars = len(json.dumps(CONFIG))
    driver = configured(limits=Limits(max_pending_chars=config_chars + 9)).client(text("A234567."))
    assert driver.session.reading
    driver.client(text("."))
    assert not driver.session.reading
    assert driver.complete().session.reading


def test_a_large_config_counts_until_its_first_unit_is_spoken() -> None:
    driver = configured(DIALECT_0_30, Limits(max_pending_chars=2000), ref_audio="x" * 2000)
    assert driver.session.reading
    assert not driver.client(text("A.")).session.reading
    driver.complete()
    assert driver.client(text("A.")).session.reading


def test_reading_stops_at_the_reply_bound() -> None:
    driver = configured(limits=Limits(max_pending_replies=4)).client(*[DONE] * 100)
    assert driver.session.reading, "replies that went out do not count"
    driver.client(text("One."), DONE, DONE, DONE)
    assert driver.session.reading
    assert not driver.client(message("ping")).session.reading
    assert driver.complete().session.reading


def test_long_errors_count_as_characters() -> None:
    driver = configured(limits=Limits(max_pending_chars=1000)).client(text("One."), message("x" * 1000))
    assert not driver.session.reading


def test_a_closing_session_reads_on_to_notice_a_disconnect() -> None:
    driver = configured(limits=Limits(max_pending_units=1)).client(text("One."))
    assert not driver.session.reading
    driver.client(CLOSE)
    assert driver.session.reading
    assert not driver.complete().session.reading


def test_the_bound_of_a_closed_session_is_gone() -> None:
    driver = configured(limits=Limits(max_pending_units=1)).client(text("One."), b"")
    driver.complete()
    assert driver.session.closed
