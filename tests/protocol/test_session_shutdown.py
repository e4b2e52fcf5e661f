"""A server that ends does not cut off what was begun."""

from tests.protocol.driver import CLOSE, DONE, Driver, configured, text

from antiphon.protocol import CloseCause
from antiphon.protocol.events import CloseConnection, Shutdown

GOODBYE = CloseConnection(CloseCause.SHUTDOWN.code, CloseCause.SHUTDOWN.reason)


def test_without_an_utterance_it_is_immediate() -> None:
    for driver in (Driver(), configured(), configured().client(DONE)):
        driver.take()
        driver.deliver(Shutdown())
        assert driver.take() == [GOODBYE]
        assert driver.session.closed


def test_what_was_flushed_is_spoken_first_and_later_messages_are_ignored() -> None:
    driver = configured().client(text("One."), DONE)
    driver.deliver(Shutdown())
    driver.client(text("Two."), DONE).audio(b"ab").complete()
    assert len(driver.prepared) == 1
    assert driver.take()[-1] == GOODBYE


def test_an_open_utterance_may_still_be_completed() -> None:
    driver = configured().client(text("One"))
    driver.deliver(Shutdown())
    assert driver.take() == []
    driver.client(text(" two."), DONE).audio(b"ab").complete()
    assert [unit.text for unit in driver.prepared] == ["One two."]
    assert driver.take()[-1] == GOODBYE


def test_a_session_that_is_closing_already_says_its_own_reason() -> None:
    driver = configured().client(text("One."), CLOSE)
    driver.deliver(Shutdown())
    assert [out.code for out in driver.complete().take() if isinstance(out, CloseConnection)] == [1000]
