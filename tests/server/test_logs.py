import asyncio
import errno
import gc
import json
import logging
from collections.abc import Iterator

import pytest
from tests.server.driving import served, settings

from antiphon.server.logs import EXHAUSTION_INTERVAL_S, OF_CLIENTS, LoopErrors, configure_logging, log

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
    assert not isinstance(asyncio.get_running_loop().get_exception_handler(), LoopErrors)


def test_json_logs_are_one_object_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging(settings(log_format="json"))
    log.info("server.ready", url="http://x", sessions=3)
    logging.getLogger("uvicorn.error").warning("Exceeded concurrency limit.")
    ours, theirs = map(json.loads, capsys.readouterr().err.splitlines())
    assert ours.pop("timestamp")
    assert ours == {"event": "server.ready", "level": "info", "url": "http://x", "sessions": 3}
    assert theirs["level"] == "warning"
    assert theirs["event"] == "Exceeded concurrency limit."


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


@pytest.mark.parametrize(("log_level", "seen"), [("debug", True), ("info", False)])
def test_what_clients_do_wrong_is_for_debugging(log_level: str, seen: bool, capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging(settings(log_level=log_level, log_format="json"))
    for message in OF_CLIENTS:
        logging.getLogger("uvicorn.error").warning(message)
    levels = [json.loads(line)["level"] for line in capsys.readouterr().err.splitlines()]
    assert levels == (["debug"] * len(OF_CLIENTS) if seen else [])


def test_work_that_the_end_cut_off_is_no_error(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging(settings(log_format="json"))
    for error in (asyncio.CancelledError(), ValueError()):
        logging.getLogger("uvicorn.error").error("Exception in ASGI application\n", exc_info=error)
    (line,) = capsys.readouterr().err.splitlines()
    assert json.loads(line)["exception"] == "ValueError"


async def test_descriptors_running_out_are_reported_now_and_then(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    configure_logging(settings(log_format="json"))
    loop, report = asyncio.get_running_loop(), LoopErrors()
    context = {"message": "socket.accept() out of system resource", "exception": OSError(errno.EMFILE, "Too many")}
    for _ in range(1000):
        report(loop, context)
    now = loop.time() + EXHAUSTION_INTERVAL_S
    monkeypatch.setattr(loop, "time", lambda: now)
    report(loop, context)
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert [(line["event"], line["reason"]) for line in lines] == [("server.no_descriptors", "Too many")] * 2
