"""Starts the two servers that are compared, each as a process of its own that ends with this one."""

import json
import os
import selectors
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import IO

from tests.conformance.environments import ROOT, oracle_environment
from tests.conformance.script import Dialect

WHEELS: dict[Dialect, str] = {"0.30": "0.30.0", "0.26": "0.26.0"}

SHORT_TIMEOUTS = ("--config-timeout-s", "0.8", "--idle-timeout-s", "1.6")

_START_TIMEOUT_S = 60.0
_STOP_TIMEOUT_S = 15.0


class ServerError(Exception):
    """A server did not start; the message holds what it wrote."""


@contextmanager
def oracle(dialect: Dialect, options: Sequence[str] = ()) -> Iterator[str]:
    """Run the real handlers of the release that `dialect` is named after; yields the WebSocket URL."""
    environment = oracle_environment(WHEELS[dialect])
    command = [str(environment.python), "-m", "tests.conformance.oracle", "--source", str(environment.source)]
    with _running([*command, *options], {"PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'src'}"}) as url:
        yield url


@contextmanager
def antiphon(dialect: Dialect, options: Sequence[str] = ()) -> Iterator[str]:
    """Run `antiphon serve --engine tone` in `dialect`; yields the WebSocket URL."""
    command = [sys.executable, "-m", "tests.conformance.faulty_antiphon", "--dialect", dialect]
    with _running([*command, *options], {}) as url:
        yield url


@contextmanager
def _running(command: Sequence[str], variables: dict[str, str]) -> Iterator[str]:
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env={**os.environ, **variables},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
        )
        try:
            yield _url_of(process, errors)
        finally:
            _stop(process)


def _url_of(process: "subprocess.Popen[bytes]", errors: IO[bytes]) -> str:
    """Read lines until one is a JSON object with the URL."""
    assert process.stdout is not None
    deadline = time.monotonic() + _START_TIMEOUT_S
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while selector.select(deadline - time.monotonic()):
            line = process.stdout.readline()
            if line.startswith(b'{"url"'):
                return str(json.loads(line)["url"])
            if not line:
                break
    errors.seek(0)
    raise ServerError(errors.read().decode(errors="replace") or "the server wrote nothing")


def _stop(process: "subprocess.Popen[bytes]") -> None:
    assert process.stdin is not None
    process.stdin.close()
    try:
        process.wait(_STOP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    finally:
        assert process.stdout is not None
        process.stdout.close()
