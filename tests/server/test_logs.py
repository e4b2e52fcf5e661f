import json
import logging
from collections.abc import Iterator

import pytest
from tests.server.driving import settings

from antiphon.server.logs import configure_logging, log

SAID = "what a user said"


@pytest.fixture(autouse=True)
def _logging_as_before() -> Iterator[None]:
    root, ours = logging.getLogger(), logging.getLogger("antiphon")
    before = root.handlers[:], root.level, ours.level
    yield
    root.handlers[:] = before[0]
    root.setLevel(before[1])
    ours.setLevel(before[2])


def fail() -> None:
    raise ExceptionGroup(SAID, [ValueError(SAID), KeyError(SAID)])


@pytest.mark.parametrize("log_format", ["json", "console"])
def test_an_exception_is_logged_by_its_type_and_place(log_format: str, capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging(settings(log_format=log_format))
    try:
        fail()
    except ExceptionGroup:
        log.exception("session.crashed", route="x")
        logging.getLogger("uvicorn.error").exception("Exception in ASGI application")
    written = capsys.readouterr()
    assert written.out == ""
    assert SAID not in written.err
    assert written.err.count("ValueError, KeyError") == 2
    assert "Traceback" not in written.err


def test_json_logs_are_one_object_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging(settings(log_format="json"))
    log.info("server.ready", url="http://x", sessions=3)
    logging.getLogger("uvicorn.error").warning("Invalid HTTP request received.")
    ours, theirs = map(json.loads, capsys.readouterr().err.splitlines())
    assert ours.pop("timestamp")
    assert ours == {"event": "server.ready", "level": "info", "url": "http://x", "sessions": 3}
    assert theirs["level"] == "warning"
    assert theirs["event"] == "Invalid HTTP request received."


def test_the_level_is_that_of_the_settings(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging(settings(log_level="warning", log_format="json"))
    log.info("server.ready")
    log.warning("server.drain_timeout")
    logging.getLogger("uvicorn.error").info("Started server process")
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_a_program_that_does_not_configure_logging_sees_warnings_only(capsys: pytest.CaptureFixture[str]) -> None:
    logging.getLogger().handlers[:] = []
    log.info("engine.ready", engine="tone")
    assert capsys.readouterr() == ("", "")
