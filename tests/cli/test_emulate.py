"""`antiphon emulate` as a process: what it starts, what it says, what it leaves behind."""

import json
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.cli.command import assert_a_sentence
from typer.testing import CliRunner

from antiphon.cli.commands import app
from antiphon.cli.emulate import emulate
from antiphon.emulator import stopping
from antiphon.emulator.event_log import read_events
from antiphon.emulator.state import StateFolder
from antiphon.emulator.stopping import listens, stop

# What `up --detach` starts is to go on.
pytestmark = pytest.mark.filterwarnings("ignore:subprocess .* is still running:ResourceWarning")

EMULATE = [sys.executable, "-m", "antiphon", "emulate"]
TIMEOUT_S = 30


class Emulator:
    """The commands, all with one state folder; they run in this process, what `up` starts in one of its own."""

    def __init__(self, folder: Path) -> None:
        self.variables = {"ANTIPHON_STATE_DIR": str(folder), "COLUMNS": "200"}
        self.state = StateFolder.below(folder)

    def __call__(self, *arguments: str, **variables: str) -> "subprocess.CompletedProcess[str]":
        result = CliRunner().invoke(app, ["emulate", *arguments], env={**self.variables, **variables})
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
        return subprocess.CompletedProcess(arguments, result.exit_code, result.stdout, result.stderr)

    def start(self, *arguments: str, **options: Any) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [*EMULATE, *arguments],
            env={**os.environ, **self.variables},
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            **options,
        )

    def status(self) -> dict[str, Any]:
        shown: dict[str, Any] = json.loads(self("status", "--json").stdout)
        return shown


@pytest.fixture
def emulator(tmp_path: Path) -> Iterator[Emulator]:
    emulator = Emulator(tmp_path / "state")
    yield emulator
    stop(emulator.state)


def up(*more: str) -> tuple[str, ...]:
    return ("up", "--port", "0", "--engine", "tone", *more)


def alive(pid: int) -> bool:
    """Whether a process runs; one that nobody has asked about since it ended does not."""
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


def until(happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + TIMEOUT_S
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@dataclass(frozen=True, slots=True)
class Background:
    """One that runs in the background, for all tests that leave it as it is.

    Attributes:
        emulator: its commands.
        before: what ``env --json`` said before it ran.
        said: what the command that started it said.
        status: what it says of itself.
    """

    emulator: Emulator
    before: dict[str, str | None]
    said: str
    status: dict[str, Any]


@pytest.fixture(scope="module")
def background(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Background]:
    folder = tmp_path_factory.mktemp("background")
    emulator = Emulator(folder / "state")
    before = json.loads(emulator("env", "--port", "9443", "--json").stdout)
    config = folder / "emulator.toml"
    config.write_text("region = 'eu-west-1'\nverify = true\n[endpoints.a]\nurl = 'ws://127.0.0.1:9'\n")
    arguments = ("--config", str(config), "--no-verify", "--hostname", "one.example", "--hostname", "two.example")
    started = emulator(*up("--detach", *arguments, "--endpoint", "b=ws://127.0.0.1:10", "--endpoint", "qwen3-tts"))
    assert started.returncode == 0, started.stderr
    status = emulator.status()
    yield Background(emulator, before, started.stdout, status)
    stopped = emulator("down")
    assert (stopped.returncode, stopped.stderr) == (0, "")
    assert f"stopped process {status['pid']}" in stopped.stdout
    assert not alive(status["pid"])
    assert not any(listens(url) for url in (status["url"], status["endpoints"][-1]["url"]))
    assert emulator("status").returncode == 1


def test_in_the_background_it_says_where_it_is(background: Background) -> None:
    emulator, status = background.emulator, background.status
    assert status["running"] is True
    for shown in (status["url"], status["endpoints"][-1]["url"], str(emulator.state.events), "sagemaker://a"):
        assert shown in background.said
    down = f"ANTIPHON_STATE_DIR={emulator.variables['ANTIPHON_STATE_DIR']} antiphon emulate down"
    assert down in background.said
    assert f'eval "$({down.replace("down", "env")})"' in background.said
    until(lambda: status["url"] in emulator("logs").stdout)
    assert listens(status["endpoints"][-1]["url"])


def test_a_file_and_options_together_also_in_the_background(background: Background) -> None:
    status = background.status
    assert (status["region"], status["hostnames"]) == ("eu-west-1", ["one.example", "two.example"])
    assert [endpoint["name"] for endpoint in status["endpoints"]] == ["a", "b", "qwen3-tts"]
    assert "signatures are not checked" in background.said
    assert "nothing listens at http://127.0.0.1:9 yet" in background.said
    assert "export AWS_REGION=eu-west-1" in background.emulator("env").stdout


def test_env_is_for_a_shell_or_json_and_may_come_first(background: Background) -> None:
    emulator, before, status = background.emulator, background.before, background.status
    assert before["AWS_ENDPOINT_URL_SAGEMAKER_RUNTIME_HTTP2"] == "https://127.0.0.1:9443"
    assert before["AWS_SESSION_TOKEN"] is None
    shell, running = emulator("env").stdout, json.loads(emulator("env", "--json").stdout)
    assert f"export AWS_ENDPOINT_URL_SAGEMAKER_RUNTIME_HTTP2={status['url']}\n" in shell
    assert "unset AWS_PROFILE\n" in shell
    assert running["AWS_ENDPOINT_URL_SAGEMAKER_RUNTIME"] == status["url"]
    assert running["SSL_CERT_FILE"] == before["SSL_CERT_FILE"]
    assert stat.S_IMODE(Path(running["SSL_CERT_FILE"]).stat().st_mode) == 0o600
    secret = running["AWS_SECRET_ACCESS_KEY"]
    assert secret == before["AWS_SECRET_ACCESS_KEY"]
    shown = background.said + str(status) + emulator("logs").stdout
    assert secret not in shown + "".join(psutil.Process(status["pid"]).cmdline())


def test_one_folder_has_one(background: Background) -> None:
    for arguments in (up("--detach", "--endpoint", "b"), up("--endpoint", "b")):
        said = assert_a_sentence(background.emulator(*arguments), 1)
        assert f"process {background.status['pid']}" in said
        assert "antiphon emulate down" in said
    assert background.emulator.status() == background.status


def test_two_run_side_by_side_and_one_that_does_not_listen_is_killed(
    background: Background, emulator: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert emulator(*up("--detach", "--endpoint", "a=ws://127.0.0.1:9")).returncode == 0
    second = emulator.status()
    assert second["port"] != background.status["port"]
    os.kill(second["pid"], signal.SIGSTOP)
    monkeypatch.setattr(stopping, "STOP_TIMEOUT_S", 0.2)
    run = stop(emulator.state)
    assert run is not None
    assert run.pid == second["pid"]
    assert not emulator.state.held
    assert background.emulator.status() == background.status


def test_one_that_is_killed_leaves_no_wrong_status_and_takes_its_servers_along(emulator: Emulator) -> None:
    assert emulator(*up("--detach", "--endpoint", "qwen3-tts")).returncode == 0
    killed = emulator.status()
    os.kill(killed["pid"], signal.SIGKILL)
    until(lambda: not emulator.state.held)
    assert emulator("status").returncode == 1
    until(lambda: not listens(killed["endpoints"][0]["url"]))
    nothing = emulator("down")
    assert (nothing.returncode, "nothing was running" in nothing.stdout) == (0, True)


def test_a_server_that_has_ended_is_no_running_one(emulator: Emulator) -> None:
    assert (
        emulator(*up("--detach", "--endpoint", "qwen3-tts", "--endpoint", "elsewhere=ws://127.0.0.1:9")).returncode == 0
    )
    assert emulator("status").returncode == 0
    running = emulator.status()
    (server,) = psutil.Process(running["pid"]).children()
    server.kill()
    until(lambda: emulator("status").returncode == 1)
    status = emulator("status")
    assert "the server of qwen3-tts has ended" in status.stdout
    assert "antiphon emulate down, then up" in status.stdout
    assert "qwen3-tts → " + running["endpoints"][0]["url"] + ", not in service" in status.stdout
    assert emulator.status()["lost"] == ["qwen3-tts"]
    assert [one["in_service"] for one in emulator.status()["endpoints"]] == [False, True]
    until(lambda: '"event":"container.ended"' in emulator("logs", "--events").stdout)
    (event,) = [event for event in read_events(emulator.state.events) if event["event"] == "container.ended"]
    assert (event["endpoint"], event["status"]) == ("qwen3-tts", -signal.SIGKILL)
    said = emulator("logs").stdout
    assert "the server of endpoint qwen3-tts has ended (killed by signal 9" in said
    assert "antiphon emulate down, then antiphon emulate up" in said


class Foreground:
    """One that runs in the foreground."""

    def __init__(self, folder: Path) -> None:
        self.emulator = Emulator(folder / "state")
        self.ready = folder / "ready.json"
        arguments = up("--endpoint", "a=ws://127.0.0.1:9", "--ready-file", str(self.ready), "--exit-with-stdin")
        self.process = self.emulator.start(*arguments, stdin=subprocess.PIPE)


ENDS: dict[str, Callable[["subprocess.Popen[str]"], object]] = {
    "INT": lambda process: process.send_signal(signal.SIGINT),
    "TERM": lambda process: process.send_signal(signal.SIGTERM),
    "its parent's end": lambda process: process.stdin and process.stdin.close(),
}


@pytest.fixture(scope="module")
def foreground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Foreground]]:
    """One for each way to end it; they start together."""
    started = {way: Foreground(tmp_path_factory.mktemp("foreground")) for way in ENDS}
    yield started
    for one in started.values():
        with one.process:
            one.process.kill()


@pytest.mark.parametrize("way", ENDS)
def test_in_the_foreground_it_ends_in_order(foreground: dict[str, Foreground], way: str) -> None:
    one = foreground[way]
    until(one.ready.exists)
    run = json.loads(one.ready.read_text())
    assert (run["pid"], run["ready"]) == (one.process.pid, True)
    assert "logs --events" in assert_a_sentence(one.emulator("logs"), 1), "what it says is where it runs"
    ENDS[way](one.process)
    one.process.wait(TIMEOUT_S)
    assert one.process.stdout is not None
    assert one.process.stderr is not None
    assert (one.process.returncode, one.process.stderr.read()) == (0, "")
    assert "Ctrl-C" in one.process.stdout.read()
    assert not listens(run["url"])
    assert one.emulator.status()["running"] is False


def test_told_to_stop_while_it_starts_it_does_not_start(emulator: Emulator) -> None:
    process = emulator.start(*up("--endpoint", "qwen3-tts"))
    until(lambda: emulator.state.running() is not None)
    process.terminate()
    assert process.communicate(timeout=TIMEOUT_S)[1] == ""
    assert process.returncode in {0, 143}
    assert not emulator.state.held


def test_a_port_that_is_taken_is_explained(emulator: Emulator) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        for more in ((), ("--detach",)):
            result = emulator("up", "--port", port, "--endpoint", "a=ws://127.0.0.1:9", *more)
            said = assert_a_sentence(result, 1)
            assert f"port {port}" in said
            assert "--port" in said
            assert said.count("antiphon: ") == 1
    assert not emulator.state.held


def test_a_server_that_does_not_start_is_explained(emulator: Emulator) -> None:
    result = emulator(*up("--endpoint", "qwen3-tts"), ANTIPHON_MAX_LEAD_MS="1")
    assert result.returncode == 1
    assert "endpoint qwen3-tts: the server did not start" in result.stderr
    assert "Traceback" not in result.stderr
    assert not emulator.state.held


@pytest.mark.parametrize(
    ("arguments", "status", "expected"),
    [
        (("up",), 2, "write --endpoint NAME or --endpoint NAME=ws://HOST:PORT"),
        (("up", "--endpoint", "a_b"), 2, "no endpoint name"),
        (("up", "--endpoint", "a=ftp://b"), 2, "write ws://HOST:PORT"),
        (("up", "--endpoint", "a", "--engine", "tonne"), 1, "did you mean tone?"),
        (("up", "--endpoint", "a", "--port", "99999"), 2, "port"),
        (("up", "--endpoint", "a", "--dialect", "1"), 2, "0.26"),
        (("up", "--endpoint", "a", "--config", "none.toml"), 2, "none.toml: No such file"),
        (("up", "--endpoint", "a", "--ready-file", "nowhere/ready"), 2, "there is no folder nowhere"),
        (("up", "--endpoint", "a", "--detach", "--exit-with-stdin"), 2, "drop --exit-with-stdin"),
        (("env",), 1, "antiphon emulate up --detach"),
        (("env", "--port", "0"), 2, "port"),
        (("logs",), 1, "antiphon emulate up --detach"),
        (("logs", "--events"), 1, "antiphon emulate up --detach"),
        (("sing",), 2, "sing"),
    ],
)
def test_mistakes_are_explained(emulator: Emulator, arguments: tuple[str, ...], status: int, expected: str) -> None:
    said = assert_a_sentence(emulator(*arguments), status)
    assert expected in re.sub(r"\s+", " ", said)


def test_a_broken_file_is_explained(emulator: Emulator, tmp_path: Path) -> None:
    config = tmp_path / "emulator.toml"
    config.write_text("[endpoints.a]\nurl = ")
    assert "emulator.toml" in assert_a_sentence(emulator("up", "--config", str(config)), 2)
    config.write_text("[endpoints.a]\nurl = 'ws://127.0.0.1:9'\ncolour = 'red'")
    assert "endpoints.a: no such setting: colour; there are: url" in assert_a_sentence(
        emulator("up", "--config", str(config)), 2
    )


def test_without_the_extra_one_is_told_what_to_install(emulator: Emulator, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in [
        name for name in sys.modules if name.startswith(("antiphon.emulator.local", "antiphon.emulator.cert"))
    ]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "cryptography", None)
    for arguments in (up("--endpoint", "a=ws://127.0.0.1:9"), ("env", "--port", "8443")):
        said = assert_a_sentence(emulator(*arguments), 1)
        assert "needs cryptography" in said
        assert "pip install 'antiphon[emulator]'" in said
    assert emulator("status").stdout.startswith("not running")
    assert emulator("down").returncode == 0


def test_what_needs_no_extra_imports_none() -> None:
    code = (
        "import sys, antiphon.cli.emulate; print({'h2', 'h11', 'cryptography', 'certifi', 'numpy'} & set(sys.modules))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown == "set()\n"


def test_events_can_be_followed(emulator: Emulator) -> None:
    emulator.state.write(emulator.state.events.name, b'{"event":"one"}\n')
    following = emulator.start("logs", "--events", "--follow")
    assert following.stdout is not None
    assert following.stdout.readline() == '{"event":"one"}\n'
    with emulator.state.events.open("a") as file:
        file.write('{"event":"two"}\n')
    assert following.stdout.readline() == '{"event":"two"}\n'
    following.send_signal(signal.SIGINT)
    assert following.communicate(timeout=TIMEOUT_S)[1] == ""
    assert following.returncode == 130
    assert emulator("logs", "--events").stdout == '{"event":"one"}\n{"event":"two"}\n'


def test_help_names_every_command(emulator: Emulator) -> None:
    shown = emulator("--help").stdout
    for command in emulate.registered_commands:
        assert command.callback is not None
        assert re.search(rf"\b{command.callback.__name__}\b", shown)
