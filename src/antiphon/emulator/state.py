"""Where a local SageMaker keeps what it needs, and how others know that it runs."""

import fcntl
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from antiphon.emulator.run import Run

# Someone who looks whether the lock is held holds it for an instant.
LOOKING_S = 0.5
LOOKING_AGAIN_S = 0.01


class EmulatorError(Exception):
    """The local SageMaker cannot do that; the message says what to do."""


class AlreadyRunningError(EmulatorError):
    """A local SageMaker holds this state folder."""


class StateFolder:
    """The files of one local SageMaker; only their owner may read them.

    The emulator holds a lock on one of them for as long as it lives, so that a killed one is never taken for a running
    one, and no process is ever told to end because a file once had its number.

    Args:
        path: the folder; made when it is first written to.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def default(cls) -> Self:
        """The folder ``emulator`` below ``$ANTIPHON_STATE_DIR``, ``$XDG_STATE_HOME/antiphon`` or ``~/.local/state/antiphon``.

        Raises:
            EmulatorError: none of them is set and the user has no home directory.
        """
        if own := os.environ.get("ANTIPHON_STATE_DIR"):
            return cls.below(Path(own).absolute())
        base = os.environ.get("XDG_STATE_HOME")
        try:
            home = Path(base) if base else Path.home() / ".local" / "state"
        except RuntimeError:
            raise EmulatorError("there is no home directory to keep state in; set ANTIPHON_STATE_DIR") from None
        return cls.below(home / "antiphon")

    @classmethod
    def below(cls, state_dir: Path) -> Self:
        """The folder of the emulator in one that may have other state too."""
        return cls(state_dir / "emulator")

    @property
    def events(self) -> Path:
        """The event log."""
        return self.path / "events.jsonl"

    @property
    def bundle(self) -> Path:
        """The authorities that clients trust, once there are any."""
        return self.path / "bundle.pem"

    @property
    def log(self) -> Path:
        """What an emulator in the background says."""
        return self.path / "emulator.log"

    def make(self) -> None:
        """Make the folder.

        Raises:
            EmulatorError: it cannot be.
        """
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.path.chmod(0o700)
        except OSError as error:
            raise EmulatorError(
                f"cannot keep state in {self.path}: {error.strerror}; set ANTIPHON_STATE_DIR to another folder"
            ) from None

    def write(self, name: str, data: bytes) -> Path:
        """Write a file, whole or not at all.

        Raises:
            EmulatorError: it cannot be written.
        """
        self.make()
        try:
            _replace(self.path, name, data)
        except OSError as error:
            raise EmulatorError(f"cannot write {self.path / name}: {error.strerror}") from None
        return self.path / name

    @contextmanager
    def hold(self, *, detached: bool = False) -> Iterator["Held"]:
        """Be the one emulator of this folder.

        Raises:
            AlreadyRunningError: another one is.
            EmulatorError: the folder cannot be written.
        """
        with self.locked("lock", wait_s=LOOKING_S) as locked:
            if not locked:
                raise AlreadyRunningError(self.who())
            run_file = self.path / "run.json"
            run_file.unlink(missing_ok=True)
            try:
                held = Held(self, Run(os.getpid(), detached=detached))
                held.say(ready=False)
                yield held
            finally:
                run_file.unlink(missing_ok=True)

    def running(self) -> Run | None:
        """Return what the running emulator says of itself, or None when none runs."""
        if not self.held:
            return None
        try:
            return Run.parse((self.path / "run.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None

    @property
    def held(self) -> bool:
        """Whether an emulator runs here."""
        try:
            with (self.path / "lock").open("rb") as file:
                return not _take(file.fileno(), fcntl.LOCK_SH)
        except OSError:
            return False

    @contextmanager
    def locked(self, name: str, *, wait_s: float) -> Iterator[bool]:
        """Hold the lock on a file; gives whether it was to be had within so many seconds.

        Raises:
            EmulatorError: the file cannot be made.
        """
        self.make()
        try:
            descriptor = os.open(self.path / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise EmulatorError(f"cannot write {self.path / name}: {error.strerror}") from None
        try:
            deadline = time.monotonic() + wait_s
            while not (taken := _take(descriptor, fcntl.LOCK_EX)) and time.monotonic() < deadline:
                time.sleep(LOOKING_AGAIN_S)
            yield taken
        finally:
            os.close(descriptor)

    def who(self) -> str:
        """A sentence about the emulator that runs here, for who would start another."""
        run = self.running()
        where = f" (process {run.pid}{f', {run.url}' if run.url else ''})" if run else ""
        return (
            f"a local SageMaker runs already{where}; stop it with `antiphon emulate down`, "
            "or run another beside it with another ANTIPHON_STATE_DIR and --port"
        )


class Held:
    """The state folder while this process is its emulator."""

    def __init__(self, folder: StateFolder, run: Run) -> None:
        self.folder = folder
        self.run = run

    def say(self, **changes: Any) -> Run:
        """Tell others what has changed; the fields are those of `Run`."""
        self.run = replace(self.run, **changes)
        self.folder.write("run.json", self.run.to_json().encode())
        return self.run


def _take(descriptor: int, how: int) -> bool:
    try:
        fcntl.flock(descriptor, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _replace(folder: Path, name: str, data: bytes) -> None:
    # Such a file can be read by its owner only.
    with tempfile.NamedTemporaryFile(dir=folder, prefix=f".{name}.", delete=False) as file:
        temporary = Path(file.name)
        try:
            file.write(data)
            file.close()
            temporary.replace(folder / name)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
