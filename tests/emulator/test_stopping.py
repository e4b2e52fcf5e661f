"""What is told to end, and above all what is not."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from antiphon.emulator import stopping
from antiphon.emulator.run import Run, RunningEndpoint
from antiphon.emulator.state import EmulatorError, StateFolder
from antiphon.emulator.stopping import listens, stop

HOLDER = """
import signal, sys
from pathlib import Path
from antiphon.emulator.state import StateFolder
with StateFolder(Path(sys.argv[1])).hold() as held:
    held.say(ready=True)
    print("held", flush=True)
    signal.pause()
"""

needs_proc = pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs Linux")


@pytest.fixture
def folder(tmp_path: Path) -> StateFolder:
    return StateFolder(tmp_path)


@pytest.fixture
def bystander() -> Iterator["subprocess.Popen[bytes]"]:
    process = subprocess.Popen(["sleep", "60"])
    yield process
    process.kill()
    process.wait()


@pytest.mark.parametrize("pid", [0, -1, "1", None, 1.5, True])
def test_what_is_no_process_is_never_signalled(pid: object) -> None:
    text = Run(1).to_json().replace('"pid": 1', f'"pid": {json.dumps(pid)}')
    with pytest.raises(ValueError, match="not the process"):
        Run.parse(text)


def test_nothing_runs(folder: StateFolder) -> None:
    assert stop(folder) is None


def test_what_holds_the_lock_is_ended_and_waited_for(folder: StateFolder) -> None:
    with subprocess.Popen([sys.executable, "-c", HOLDER, str(folder.path)], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        run = stop(folder)
        assert holder.poll() is not None
    assert run is not None
    assert run.pid == holder.pid


def test_a_server_that_had_ended_is_not_waited_for(folder: StateFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stopping, "SERVERS_TIMEOUT_S", 0.05)
    monkeypatch.setattr(stopping, "KILL_TIMEOUT_S", 0)
    monkeypatch.setattr(stopping, "_end", lambda *_: None)
    with socket.create_server(("127.0.0.1", 0)) as other:
        url = f"http://127.0.0.1:{other.getsockname()[1]}"
        gone = RunningEndpoint("a", url, started=True, in_service=False)
        monkeypatch.setattr(stopping, "_running", lambda _: Run(os.getpid(), endpoints=(gone,)))
        assert stop(folder) is not None, "its port may be another's by now"


def test_a_process_that_once_had_that_number_is_left_alone(
    folder: StateFolder, bystander: "subprocess.Popen[bytes]"
) -> None:
    folder.write("run.json", Run(bystander.pid, ready=True).to_json().encode())
    assert stop(folder) is None
    assert bystander.poll() is None


@needs_proc
def test_one_of_a_system_that_counts_otherwise_is_left_alone(
    folder: StateFolder, bystander: "subprocess.Popen[bytes]"
) -> None:
    with folder.hold() as held:
        held.say(pid=bystander.pid)
        with pytest.raises(EmulatorError, match=f"is not process {bystander.pid} of this system"):
            stop(folder)
    assert bystander.poll() is None


def test_one_that_does_not_say_who_it_is_is_left_alone(folder: StateFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stopping, "SAY_TIMEOUT_S", 0.05)
    with folder.hold():
        (folder.path / "run.json").unlink()
        with pytest.raises(EmulatorError, match="does not say who it is"):
            stop(folder)


def test_who_listens() -> None:
    assert not listens("http://127.0.0.1:9")
