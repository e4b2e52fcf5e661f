"""A local SageMaker in a process of its own, for as long as a program needs one."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import urlencode

from antiphon.emulator.environment import environment
from antiphon.emulator.event_log import FLUSH_S, Event, read_events
from antiphon.emulator.run import Run
from antiphon.emulator.settings import credentials
from antiphon.emulator.state import StateFolder

ENDPOINTS = ("qwen3-tts",)
OPTIONS = ("--engine", "tone", "--dialect", "0.26")
START_TIMEOUT_S = 120.0
STOP_TIMEOUT_S = 25.0
POLL_S = 0.02


class LocalSageMakerError(Exception):
    """The local SageMaker did not start; the message has its last words."""


class LocalSageMaker:
    """A local SageMaker in a process of its own, which ends with the block, or with this process however that ends.

    It has its own keys, certificates and event log in a temporary folder, and listens on a free port of 127.0.0.1.

    Args:
        endpoints: as ``antiphon emulate up --endpoint`` takes them: ``NAME``, or ``NAME=ws://HOST:PORT``.
        options: more options of ``antiphon emulate up``.
    """

    def __init__(self, endpoints: Sequence[str] = ENDPOINTS, options: Sequence[str] = OPTIONS) -> None:
        self._arguments = ["--port", "0", *options, *(f"--endpoint={endpoint}" for endpoint in endpoints)]
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._run: Run | None = None

    def __enter__(self) -> Self:
        """Start it, and wait until every endpoint can be invoked.

        Raises:
            LocalSageMakerError: it did not start.
        """
        self._folder = tempfile.TemporaryDirectory(prefix="antiphon-")
        try:
            self._process = self._start(Path(self._folder.name))
            self._run = self._until_ready(self._process)
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stop()

    @property
    def state_dir(self) -> Path:
        """What ``ANTIPHON_STATE_DIR`` is for it."""
        if self._folder is None:
            raise RuntimeError("this local SageMaker does not run")
        return Path(self._folder.name)

    @property
    def pid(self) -> int:
        """Its process."""
        return self._running.pid

    @property
    def event_log(self) -> Path:
        """What has happened on its wire, as JSON lines."""
        return self._state.events

    @property
    def endpoint_url(self) -> str:
        """Where it is, ``https://127.0.0.1:PORT``."""
        return self._running.url

    @property
    def region(self) -> str:
        """The region that requests are to be signed for."""
        return self._running.region

    @property
    def ca_file(self) -> Path:
        """The authorities to trust: the public ones, and its own."""
        return self._state.bundle

    @property
    def environ(self) -> Mapping[str, str]:
        """The variables that lead clients of AWS here."""
        return {name: value for name, value in self._variables().items() if value is not None}

    @contextmanager
    def applied(self) -> Iterator[Self]:
        """Have these variables in the environment of this process; afterwards it is as it was."""
        variables = self._variables()
        before = {name: os.environ.get(name) for name in variables}
        _set(variables)
        try:
            yield self
        finally:
            _set(before)

    def target(self, name: str, **query: str) -> str:
        """Return what `antiphon.connect` takes.

        Args:
            name: of the endpoint.
            **query: more of the target, such as ``variant``.
        """
        query = {"endpoint_url": self.endpoint_url, "region": self.region, **query}
        return f"sagemaker://{name}?{urlencode(query)}"

    def events(self) -> list[Event]:
        """Return what has happened on its wire, oldest first."""
        # What has just happened is on its way to the disk.
        time.sleep(2 * FLUSH_S)
        return read_events(self.event_log)

    @property
    def _running(self) -> Run:
        if self._run is None:
            raise RuntimeError("this local SageMaker does not run")
        return self._run

    @property
    def _state(self) -> StateFolder:
        return StateFolder.below(self.state_dir)

    def _variables(self) -> Mapping[str, str | None]:
        return environment(self.endpoint_url, self.region, credentials(self._state), self.ca_file)

    def _start(self, folder: Path) -> "subprocess.Popen[bytes]":
        command = [sys.executable, "-m", "antiphon", "emulate", "up", "--exit-with-stdin"]
        with (folder / "log").open("wb") as log:
            return subprocess.Popen(  # noqa: S603 - it is this program
                [*command, "--ready-file", str(folder / "ready.json"), *self._arguments],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                env={**os.environ, "ANTIPHON_STATE_DIR": str(folder)},
            )

    def _until_ready(self, process: "subprocess.Popen[bytes]") -> Run:
        ready, deadline = self.state_dir / "ready.json", time.monotonic() + START_TIMEOUT_S
        while not ready.exists():
            if process.poll() is not None:
                raise LocalSageMakerError(f"the local SageMaker did not start: {self._said()}")
            if time.monotonic() > deadline:
                raise LocalSageMakerError(f"not ready after {START_TIMEOUT_S:.0f} s: {self._said()}")
            time.sleep(POLL_S)
        return Run.parse(ready.read_text(encoding="utf-8"))

    def _said(self) -> str:
        return (self.state_dir / "log").read_text(encoding="utf-8", errors="replace").strip() or "it said nothing"

    def _stop(self) -> None:
        process, folder = self._process, self._folder
        self._process = self._folder = self._run = None
        if process is not None:
            _end(process)
        if folder is not None:
            folder.cleanup()


def _end(process: "subprocess.Popen[bytes]") -> None:
    if process.stdin is not None:
        process.stdin.close()
    try:
        process.wait(STOP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _set(variables: Mapping[str, str | None]) -> None:
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
