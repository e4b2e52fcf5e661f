"""The state folder: who holds it, what it says, who may read it."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from antiphon.emulator.run import Run, RunningEndpoint
from antiphon.emulator.state import AlreadyRunningError, EmulatorError, StateFolder

HOLDER = """
import sys, time
from pathlib import Path
from antiphon.emulator.state import StateFolder
with StateFolder(Path(sys.argv[1])).hold() as held:
    held.say(ready=True, url="https://127.0.0.1:1", port=1)
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def folder(tmp_path: Path) -> StateFolder:
    return StateFolder(tmp_path / "state")


def holder(folder: StateFolder) -> "subprocess.Popen[bytes]":
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(folder.path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"held\n"
    return process


def test_nothing_runs_in_a_folder_that_is_not_there(folder: StateFolder) -> None:
    assert folder.running() is None
    assert not folder.path.exists()


def test_what_the_holder_says_is_read_by_another_process(folder: StateFolder) -> None:
    process = holder(folder)
    try:
        run = folder.running()
        assert run is not None
        assert (run.pid, run.ready, run.port) == (process.pid, True, 1)
        with pytest.raises(AlreadyRunningError, match=rf"process {process.pid}, https://127.0.0.1:1\).* down"):
            folder.hold().__enter__()
        assert folder.running() == run
    finally:
        process.communicate()
    assert folder.running() is None
    assert not (folder.path / "run.json").exists()


def test_a_killed_holder_leaves_no_wrong_status_and_nothing_in_the_way(folder: StateFolder) -> None:
    process = holder(folder)
    process.kill()
    process.communicate()

    assert (folder.path / "run.json").exists()
    assert folder.running() is None
    with folder.hold():
        run = folder.running()
        assert run is not None
        assert (run.pid, run.ready) == (os.getpid(), False)


def test_those_who_look_are_in_nobodys_way(folder: StateFolder) -> None:
    looking = "import sys; from pathlib import Path; from antiphon.emulator.state import StateFolder as S\n"
    looking += "f = S(Path(sys.argv[1]))\nprint('looking', flush=True)\nwhile True: f.held"
    with folder.hold():
        pass
    watchers = [
        subprocess.Popen([sys.executable, "-c", looking, str(folder.path)], stdout=subprocess.PIPE) for _ in range(2)
    ]
    try:
        for watcher in watchers:
            assert watcher.stdout is not None
            assert watcher.stdout.readline()
        for _ in range(20):
            with folder.hold():
                assert folder.held
    finally:
        for watcher in watchers:
            watcher.kill()
            watcher.communicate()


def test_only_the_owner_may_read(folder: StateFolder) -> None:
    with folder.hold():
        folder.write("secret", b"1")
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.path.iterdir()}
    assert set(modes.values()) == {0o600}
    assert {"secret", "lock", "run.json"} == set(modes)
    assert stat.S_IMODE(folder.path.stat().st_mode) == 0o700


def test_a_file_is_written_whole_or_not_at_all(folder: StateFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.write("name", b"before")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(EmulatorError, match="No space left"):
        folder.write("name", b"after")
    assert [path.name for path in folder.path.iterdir()] == ["name"]
    assert (folder.path / "name").read_bytes() == b"before"


def test_a_run_is_the_same_after_json() -> None:
    run = Run(1, True, "https://127.0.0.1:8443", 8443, "us-east-1", (RunningEndpoint("a", "http://b:1", True),), ("n",))
    assert Run.parse(run.to_json()) == run


@pytest.mark.parametrize("text", ["", "[]", "1", "{}", '{"pid": 1}', '{"endpoints": [], "hostnames": [], "colour": 1}'])
def test_what_is_no_run_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        Run.parse(text)


def test_a_run_that_cannot_be_read_is_none(folder: StateFolder) -> None:
    with folder.hold():
        folder.write("run.json", b"{")
        assert folder.running() is None
        assert folder.held


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"ANTIPHON_STATE_DIR": "/a"}, "/a/emulator"),
        ({"XDG_STATE_HOME": "/x"}, "/x/antiphon/emulator"),
        ({"HOME": "/h"}, "/h/.local/state/antiphon/emulator"),
    ],
)
def test_where_it_is(variables: dict[str, str], expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTIPHON_STATE_DIR", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert StateFolder.default().path == Path(expected)


def test_a_user_without_a_home_is_told_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("ANTIPHON_STATE_DIR", raising=False)
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", homeless)
    with pytest.raises(EmulatorError, match="set ANTIPHON_STATE_DIR"):
        StateFolder.default()


def test_a_folder_that_cannot_be_made_is_explained() -> None:
    with pytest.raises(EmulatorError, match="set ANTIPHON_STATE_DIR to another folder"):
        StateFolder(Path("/dev/null/state")).make()
