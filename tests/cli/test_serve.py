"""`antiphon serve` as a process: its flags, its words, its end."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import pytest
from tests.cli.command import antiphon, assert_a_sentence
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from antiphon.server.settings import ServerSettings


@contextmanager
def serving(
    folder: Path, *flags: str, descriptors: int | None = None, **variables: str
) -> Iterator[tuple["subprocess.Popen[bytes]", str]]:
    ready = folder / "ready.json"
    limited = ["sh", "-c", f'ulimit -n {descriptors} && exec "$@"', "sh"] if descriptors else []
    process = subprocess.Popen(
        [*limited, sys.executable, "-m", "antiphon", "serve", "--engine", "tone", "--ready-file", str(ready), *flags],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, **variables},
    )
    try:
        deadline = time.monotonic() + 30
        while not ready.exists():
            assert process.poll() is None, process.stderr and process.stderr.read()
            assert time.monotonic() < deadline
            time.sleep(0.02)
        yield process, json.loads(ready.read_text())["url"]
    finally:
        process.kill()
        process.communicate()


def test_help_shows_every_setting_with_its_variable_and_default() -> None:
    shown = antiphon("serve", "--help").stdout
    for name, field in ServerSettings.model_fields.items():
        if name == "api_key":
            assert "--api-key " not in shown, "a key does not belong on a command line"
            assert "the variable ANTIPHON_API_KEY" in shown
            continue
        assert f"--{name.replace('_', '-')}" in shown
        assert f"ANTIPHON_{name.upper()}" in shown
        if field.default is not None:
            assert f"[default: {field.default}]" in shown


def test_it_serves_where_it_says_and_ends_with_status_0(tmp_path: Path) -> None:
    with serving(tmp_path, "--port", "0") as (process, url):
        assert httpx.get(f"{url}/ping").status_code == 200
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0


def test_it_ends_with_its_parent(tmp_path: Path) -> None:
    with serving(tmp_path, "--port", "0", "--exit-with-stdin") as (process, _):
        assert process.stdin is not None
        process.stdin.close()
        process.stdin = None
        assert process.wait(10) == 0


def test_flags_win_over_variables_and_those_over_the_file(tmp_path: Path) -> None:
    config = tmp_path / "antiphon.toml"
    config.write_text('port = 1\nmodel_name = "file"\npace = "listener"\n')
    with serving(tmp_path, "--port", "0", "--config", str(config), ANTIPHON_MODEL_NAME="variable") as (_, url):
        assert httpx.get(f"{url}/v1/models").json()["data"][0]["id"] == "variable"


@pytest.mark.parametrize(
    ("toml", "expected"),
    [
        ("port = 'many'", "port"),
        ("colour = 1", "colour"),
        ("port =", "cannot read the settings"),
        ("max_lead_ms = 1", "max_lead_ms"),
    ],
)
def test_a_bad_file_is_explained(toml: str, expected: str, tmp_path: Path) -> None:
    config = tmp_path / "antiphon.toml"
    config.write_text(toml)
    result = antiphon("serve", "--config", str(config))
    assert result.returncode in {1, 2}
    assert expected in assert_a_sentence(result, result.returncode)


def test_a_port_in_use_is_explained() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        said = assert_a_sentence(antiphon("serve", "--engine", "tone", "--port", port), 1)
    assert f"port {port}" in said
    assert "--port" in said


def test_an_engine_that_is_not_there_is_explained() -> None:
    assert "available: hibari, tone" in assert_a_sentence(antiphon("serve", "--engine", "nobody"), 1)


@pytest.mark.parametrize(
    ("flags", "key", "expected"),
    [
        ((), "", "ANTIPHON_API_KEY is blank"),
        (("--host", ""), "sesame", "host"),
        (("--ready-file", "nowhere/ready"), "sesame", "there is no folder nowhere"),
    ],
)
def test_what_would_not_be_as_it_looks_is_refused(flags: tuple[str, ...], key: str, expected: str) -> None:
    result = antiphon("serve", "--engine", "tone", "--port", "0", *flags, ANTIPHON_API_KEY=key)
    assert expected in assert_a_sentence(result, result.returncode)
    assert result.returncode in {1, 2}


def test_a_mistyped_variable_is_told_with_the_one_that_was_meant(tmp_path: Path) -> None:
    with serving(tmp_path, "--port", "0", "--log-format", "json", ANTIPHON_PROT="1") as (process, _):
        process.terminate()
        lines = map(json.loads, process.communicate()[1].splitlines())
    (warning,) = (line for line in lines if line["event"] == "settings.unknown_variable")
    assert (warning["variable"], warning["nearest"]) == ("ANTIPHON_PROT", "ANTIPHON_PORT")


def test_a_second_signal_ends_it_in_a_hurry_but_without_a_trace(tmp_path: Path) -> None:
    with serving(tmp_path, "--port", "0", "--pace", "listener", "--log-format", "json") as (process, url):
        with connect(f"ws{url.removeprefix('http')}/v1/audio/speech/stream") as client:
            config = {"type": "session.config", "response_format": "pcm", "stream_audio": True}
            for message in (config, {"type": "input.text", "text": "long " * 600}, {"type": "input.done"}):
                client.send(json.dumps(message))
            while not isinstance(client.recv(10), bytes):
                pass
            process.terminate()
            time.sleep(0.2)
            process.terminate()
            with pytest.raises(ConnectionClosed) as ended:
                _read_to_the_end(client)
        said = process.communicate(timeout=10)[1].decode()
    assert ended.value.rcvd is not None
    assert ended.value.rcvd.code == 1012
    assert ended.value.rcvd.reason
    assert process.returncode == 0
    assert {json.loads(line)["level"] for line in said.splitlines()} == {"info"}


@pytest.mark.parametrize("descriptors", [100, 30], ids=["turned away", "exhausted"])
def test_running_out_of_descriptors_passes_and_is_not_told_a_thousand_times(tmp_path: Path, descriptors: int) -> None:
    flags = ("--port", "0", "--config-timeout-s", "1", "--log-format", "json")
    with serving(tmp_path, *flags, descriptors=descriptors) as (process, url), ExitStack() as clients:
        host, _, port = url.removeprefix("http://").partition(":")
        for _ in range(130):
            client = clients.enter_context(socket.create_connection((host, int(port))))
            client.sendall(b"GET /ping HTTP/1.1\r\nX: ")
        deadline = time.monotonic() + 15
        while not _answers(url):
            assert time.monotonic() < deadline
            time.sleep(0.1)
        process.terminate()
        said = process.communicate(timeout=10)[1].decode()
    events = [json.loads(line)["event"] for line in said.splitlines()]
    assert events.count("server.few_descriptors") == 1
    assert events.count("server.no_descriptors") <= 2
    assert len(events) < 10


def _read_to_the_end(client: ClientConnection) -> None:
    while True:
        client.recv(10)


def _answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/ping", timeout=1).status_code == 200
    except httpx.HTTPError:
        return False
