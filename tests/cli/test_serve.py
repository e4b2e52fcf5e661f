"""`antiphon serve` as a process: its flags, its words, its end."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from tests.cli.command import antiphon, assert_a_sentence

from antiphon.server.settings import ServerSettings


@contextmanager
def serving(folder: Path, *flags: str, **variables: str) -> Iterator[tuple["subprocess.Popen[bytes]", str]]:
    ready = folder / "ready.json"
    process = subprocess.Popen(
        [sys.executable, "-m", "antiphon", "serve", "--engine", "tone", "--ready-file", str(ready), *flags],
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
