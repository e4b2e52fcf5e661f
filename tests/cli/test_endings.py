"""How commands end when they cannot print, and when they are told to."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from antiphon.cli.failures import ExitCode

TIMEOUT_S = 60
ANTIPHON = [sys.executable, "-m", "antiphon"]

needs_full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")


@needs_full
@pytest.mark.parametrize(
    "arguments",
    [
        ["say", "Hi.", "--to", "local:tone", "-o", "a.wav", "--json"],
        ["say", "Hi.", "--to", "local:tone", "-o", "-"],
        ["voices", "--engine", "tone"],
        ["demo", "--engine", "tone", "--text", "Hi."],
        ["--help"],
    ],
)
def test_standard_output_that_is_full_is_said_in_words(arguments: list[str], tmp_path: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        result = subprocess.run(
            [*ANTIPHON, *arguments], stdout=full, stderr=subprocess.PIPE, cwd=tmp_path, timeout=TIMEOUT_S, check=False
        )

    assert result.returncode == ExitCode.FAILED
    assert result.stderr.endswith(b"antiphon: cannot write to standard output: No space left on device\n")
    assert b"Traceback" not in result.stderr


@needs_full
def test_standard_error_that_is_full_is_no_stack_trace(tmp_path: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        result = subprocess.run(
            [*ANTIPHON, "voices", "--engine", "none"],
            stdout=subprocess.PIPE,
            stderr=full,
            timeout=TIMEOUT_S,
            check=False,
        )

    assert (result.returncode, result.stdout) == (ExitCode.FAILED, b"")


@pytest.mark.parametrize(
    "arguments",
    [["voices", "--engine", "tone"], ["say", "Hi.", "--to", "local:tone", "-o", "-", "--no-play"]],
)
def test_a_reader_that_leaves_is_no_error_to_speak_of(arguments: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        result = subprocess.run(
            [*ANTIPHON, *arguments], stdout=writing, stderr=subprocess.PIPE, timeout=TIMEOUT_S, check=False
        )
    finally:
        os.close(writing)

    assert result.returncode == ExitCode.FAILED
    assert result.stderr == (b"Hi.\n" if "say" in arguments else b"")


@pytest.mark.parametrize("way", [[], ["--direct"]])
def test_sigterm_ends_the_demo_its_servers_and_its_folders(way: list[str], tmp_path: Path) -> None:
    process = subprocess.Popen(
        [*ANTIPHON, "demo", *way, "--engine", "tone", "--tokens-per-second", "0.5", "-o", str(tmp_path / "a.wav")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    with process:
        assert process.stdout is not None
        assert b"tokens/s" in process.stdout.readline()
        servers = psutil.Process(process.pid).children(recursive=True)
        assert servers
        assert list(tmp_path.glob("antiphon-*"))
        process.send_signal(signal.SIGTERM)
        _, stderr = process.communicate(timeout=TIMEOUT_S)

    assert process.returncode == ExitCode.TERMINATED == 128 + signal.SIGTERM
    assert stderr == b""
    assert list(tmp_path.iterdir()) == []
    assert not any(server.is_running() for server in servers)


@pytest.mark.parametrize("way", [[], ["--direct"]])
@pytest.mark.parametrize("told", [signal.SIGTERM, signal.SIGINT])
def test_the_demo_ends_what_it_is_still_starting(way: list[str], told: signal.Signals, tmp_path: Path) -> None:
    process = subprocess.Popen(
        [*ANTIPHON, "demo", *way, "--engine", "tone", "-o", str(tmp_path / "a.wav")],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    with process:
        while not (servers := psutil.Process(process.pid).children(recursive=True)):
            assert process.poll() is None
        process.send_signal(told)
        _, stderr = process.communicate(timeout=TIMEOUT_S)

    assert process.returncode == 128 + told
    assert stderr == b""
    assert list(tmp_path.iterdir()) == []
    assert not any(server.is_running() for server in servers)


def test_ctrl_c_is_no_stack_trace_while_the_commands_are_loaded(tmp_path: Path) -> None:
    (tmp_path / "typer.py").write_text("raise KeyboardInterrupt")
    result = subprocess.run(
        [*ANTIPHON, "demo"],
        capture_output=True,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        timeout=TIMEOUT_S,
        check=False,
    )

    assert (result.returncode, result.stdout, result.stderr) == (ExitCode.INTERRUPTED, b"", b"")


def test_sigterm_ends_what_is_said_and_leaves_a_recording(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [*ANTIPHON, "say", "--to", "local:tone", "-o", str(tmp_path / "a.wav")],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with process:
        assert process.stdin is not None
        assert process.stderr is not None
        process.stdin.write(b"This is the first sentence. And this is the ")
        process.stdin.flush()
        assert process.stderr.readline() == b"This is the first sentence.\n"
        process.send_signal(signal.SIGTERM)
        assert process.wait(TIMEOUT_S) == ExitCode.TERMINATED
        assert process.stderr.read() == b""
