"""A server in a process of its own, and what that process costs."""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

_START_TIMEOUT_S = 60.0
_STOP_TIMEOUT_S = 40.0  # above what sessions have to finish after SIGTERM


class ServerError(Exception):
    """The server did not start, or did not stop as asked."""


@dataclass(frozen=True, slots=True)
class Server:
    """A running server.

    Attributes:
        url: of HTTP, without a path.
        process: for psutil.
    """

    url: str
    process: psutil.Process

    @property
    def target(self) -> str:
        """What a client connects to."""
        return self.url.replace("http://", "ws://")

    @property
    def address(self) -> tuple[str, int]:
        """Host and port."""
        host, _, port = self.url.removeprefix("http://").rpartition(":")
        return host, int(port)

    def cpu_s(self) -> float:
        """Seconds of CPU it has used since its start, kernel included."""
        times = self.process.cpu_times()
        return float(times.user + times.system)

    def rss(self) -> int:
        """Bytes of memory it has resident."""
        return int(self.process.memory_info().rss)


@contextmanager
def serving(*flags: str) -> Iterator[Server]:
    """Run `antiphon serve` with these flags on a free port, until the block ends.

    Raises:
        ServerError: it did not start, or its exit status was not 0.
    """
    with running(
        [sys.executable, "-m", "antiphon", "serve", "--port", "0", "--log-level", "warning", *flags]
    ) as server:
        yield server


@contextmanager
def running(command: Sequence[str]) -> Iterator[Server]:
    """Run a server that takes ``--ready-file`` and ends with status 0 on SIGTERM, until the block ends.

    Raises:
        ServerError: it did not start, or its exit status was not 0.
    """
    with tempfile.TemporaryDirectory() as folder:
        ready = Path(folder) / "ready"
        process = subprocess.Popen([*command, "--ready-file", str(ready)])
        try:
            yield Server(_wait_ready(process, ready), psutil.Process(process.pid))
        finally:
            status = _stop(process)
        if status:
            raise ServerError(f"the server ended with status {status}")


def _wait_ready(process: "subprocess.Popen[bytes]", ready: Path) -> str:
    deadline = time.monotonic() + _START_TIMEOUT_S
    while not ready.exists():
        if process.poll() is not None:
            raise ServerError(f"the server ended with status {process.returncode} before it was ready")
        if time.monotonic() > deadline:
            raise ServerError(f"the server was not ready after {_START_TIMEOUT_S:g} s")
        time.sleep(0.02)
    return str(json.loads(ready.read_text(encoding="utf-8"))["url"])


def _stop(process: "subprocess.Popen[bytes]") -> int:
    process.terminate()
    try:
        return process.wait(_STOP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()
