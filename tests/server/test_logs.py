import asyncio
import gc
import json
import logging
from collections.abc import Iterator

import pytest
from tests.server.driving import served, settings

from antiphon.server.logs import configure_logging, log, on_loop_error

pytestmark = pytest.mark.anyio

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


async def test_what_nobody_awaited_is_logged_without_its_words(capsys: pytest.CaptureFixture[str]) -> None:
    async def fails() -> None:
        raise ValueError(SAID)

    async with served(log_format="json"):
        configure_logging(settings(log_format="json"))
        asyncio.get_running_loop().call_soon(int, SAID)
        task = asyncio.create_task(fails())
        await asyncio.wait({task})
        del task
        gc.collect()
        asyncio.get_running_loop().call_exception_handler({"message": "Task was destroyed but it is pending!"})
    written = capsys.readouterr().err
    assert SAID not in written
    entries = [entry for entry in map(json.loads, written.splitlines()) if entry["event"] == "loop.error"]
    assert [entry.get("exception") for entry in entries] == ["ValueError", "ValueError", None]
    assert any(place.endswith("fails") for place in entries[1]["trace"])
    assert entries[2]["report"] == "Task was destroyed but it is pending!"
    assert asyncio.get_running_loop().get_exception_handler() is not on_loop_error


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
