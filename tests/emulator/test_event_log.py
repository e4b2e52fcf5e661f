"""The event log: cheap to write, bounded, readable while it is written."""

import asyncio
import json
import os
import stat
import threading
from pathlib import Path

import pytest

from antiphon.emulator import event_log
from antiphon.emulator.event_log import EventLog, follow, older, read_events


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "events.jsonl"


def test_an_event_has_its_time_its_name_and_its_fields(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.time", lambda: 1234.5678901)
    with EventLog(path) as log:
        log.write("to_client", connection=1, stream=3, bytes=4800, fin=True, variant=None)
    expected = {"time": 1234.56789, "event": "to_client", "connection": 1, "stream": 3}
    assert read_events(path) == [{**expected, "bytes": 4800, "fin": True, "variant": None}]
    assert path.read_text().count("\n") == 1
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    "value", ['a"b\\', 'x\n{"event":"forged"}', "\u2028\x00é\ud800", 0, -5, 1.5, True, False, None]
)
def test_a_value_stays_within_its_line(path: Path, value: object) -> None:
    with EventLog(path) as log:
        log.write("request", path=value, bytes=1)
    (line,) = path.read_text().splitlines()
    assert json.loads(line)["path"] == value
    assert list(json.loads(line)) == ["time", "event", "path", "bytes"]


def test_what_is_no_json_is_written_as_words(path: Path) -> None:
    with EventLog(path) as log:
        log.write("request", path=Path("/a"))
    assert read_events(path)[0]["path"] == "/a"


@pytest.mark.anyio
async def test_while_a_loop_runs_events_are_written_together_and_soon(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_log, "FLUSH_S", 0.01)
    log = EventLog(path)
    log.write("a")
    log.write("b")
    assert read_events(path) == []
    async with asyncio.timeout(5):
        while len(read_events(path)) < 2:  # noqa: ASYNC110 - it is a file that is waited for
            await asyncio.sleep(0.005)
    log.write("c")
    log.close()
    assert [event["event"] for event in read_events(path)] == ["a", "b", "c"]


@pytest.mark.anyio
async def test_no_more_than_so_many_wait(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_log, "FLUSH_S", 60)
    monkeypatch.setattr(event_log, "MAX_WAITING", 10)
    log = EventLog(path)
    for number in range(25):
        log.write("a", number=number)
    assert len(read_events(path)) == 20
    log.close()
    assert [event["number"] for event in read_events(path)] == list(range(25))


def test_it_stays_below_its_bound_and_keeps_the_newest(path: Path) -> None:
    with EventLog(path, max_bytes=1000) as log:
        for number in range(200):
            log.write("a", number=number)
    numbers = [event["number"] for event in read_events(path)]
    assert numbers == list(range(numbers[0], 200))
    assert len(numbers) >= 10
    files = list(path.parent.iterdir())
    assert set(files) <= {path, older(path)}
    assert all(file.stat().st_size <= 1100 for file in files)


def test_a_disk_that_takes_nothing_costs_events_and_says_so(path: Path, tmp_path: Path) -> None:
    log = EventLog(tmp_path / "later" / "events.jsonl")
    log.write("lost")
    log.write("lost")
    (tmp_path / "later").mkdir()
    log.write("kept")
    log.write("kept")
    events = [(event["event"], event.get("events")) for event in read_events(tmp_path / "later" / "events.jsonl")]
    assert events == [("log.dropped", 2), ("kept", None), ("kept", None)]


def test_a_line_cut_short_does_not_spoil_the_next(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write, calls = os.write, []

    def full(descriptor: int, data: bytes) -> int:
        calls.append(data)
        if len(calls) == 2:
            raise OSError(28, "No space left on device")
        return write(descriptor, data[:5] if len(calls) == 1 else data)

    monkeypatch.setattr(os, "write", full)
    with EventLog(path) as log:
        log.write("lost")
        log.write("kept")
    assert [event["event"] for event in read_events(path)] == ["log.dropped", "kept"]


def test_events_of_an_earlier_run_stay(path: Path) -> None:
    for name in "ab":
        with EventLog(path) as log:
            log.write(name)
    assert [event["event"] for event in read_events(path)] == ["a", "b"]


def test_what_is_being_written_is_not_read_yet(path: Path) -> None:
    path.write_text('{"event":"a"}\n{"event":"b"}\n{"even')
    assert [event["event"] for event in read_events(path)] == ["a", "b"]
    assert read_events(path.with_name("none")) == []


@pytest.mark.timeout(20)
def test_following_survives_a_change_of_files(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_log, "POLL_S", 0.001)
    log = EventLog(path, max_bytes=500)
    seen = threading.Semaphore(0)

    def write() -> None:
        for number in range(1, 300):
            log.write("a", number=number)
            seen.acquire(timeout=5)

    log.write("a", number=0)
    lines = follow(path)
    numbers = [json.loads(next(lines))["number"]]
    writer = threading.Thread(target=write)
    writer.start()
    while len(numbers) < 300:
        if line := next(lines):
            numbers.append(json.loads(line)["number"])
            seen.release()
    writer.join()
    assert numbers == list(range(300))


def test_following_waits_for_a_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_log, "POLL_S", 0.001)
    lines = follow(path)
    assert next(lines) == ""
    path.write_text("one\n")
    assert next(line for line in lines if line) == "one\n"


def test_following_waits_for_the_rest_of_a_line(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_log, "POLL_S", 0.001)
    path.write_text("on")
    lines = follow(path)
    assert next(lines) == ""
    with path.open("a") as file:
        file.write("e\ntwo\n")
    assert [line for line in (next(lines) for _ in range(3)) if line] == ["one\n", "two\n"]
