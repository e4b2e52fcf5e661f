"""Ends a running local SageMaker, and nothing else."""

import os
import select
import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from antiphon.emulator.run import Run
from antiphon.emulator.state import EmulatorError, StateFolder

# It may take its time to end streams and servers, then it is killed.
STOP_TIMEOUT_S = 20.0
KILL_TIMEOUT_S = 5.0
# Servers whose emulator was killed end by themselves, after what they are saying.
SERVERS_TIMEOUT_S = 30.0
SAY_TIMEOUT_S = 2.0
POLL_S = 0.02


def stop(folder: StateFolder) -> Run | None:
    """End the emulator that holds the folder; return, when it and its servers are gone, what it said of itself.

    Returns:
        None when none ran.

    Raises:
        EmulatorError: it cannot be ended from here.
    """
    run = _running(folder)
    if run is None:
        return None
    with _watched(run.pid) as gone:
        _end(folder, run.pid)
        gone()
    for url in [endpoint.url for endpoint in run.endpoints if endpoint.started and endpoint.in_service]:
        if not _within(SERVERS_TIMEOUT_S, lambda url=url: not listens(url)):  # type: ignore[misc]  # mypy infers no default
            raise EmulatorError(f"the local SageMaker is gone, but its server at {url} is not")
    return run


@contextmanager
def _watched(pid: int) -> Iterator[Callable[[], object]]:
    """Give what waits for the end of a process, which comes a little after it has given up its lock; Linux only."""
    try:
        descriptor = os.pidfd_open(pid)
    except (AttributeError, OSError):
        yield lambda: None
        return
    try:
        yield lambda: select.select([descriptor], [], [], KILL_TIMEOUT_S)
    finally:
        os.close(descriptor)


def _end(folder: StateFolder, pid: int) -> None:
    _signal(folder, pid, signal.SIGTERM)
    if _within(STOP_TIMEOUT_S, lambda: not folder.held):
        return
    _signal(folder, pid, signal.SIGKILL)
    if not _within(KILL_TIMEOUT_S, lambda: not folder.held):
        raise EmulatorError(f"process {pid} was killed but is still there; look at it with: ps {pid}")


def listens(url: str) -> bool:
    """Whether anyone listens at ``http://HOST:PORT``."""
    parts = urlsplit(url)
    try:
        socket.create_connection((parts.hostname or "", parts.port or 80), timeout=1).close()
    except OSError:
        return False
    return True


def _running(folder: StateFolder) -> Run | None:
    """Return what the emulator says; one that is just starting is given the time to say it."""
    _within(SAY_TIMEOUT_S, lambda: not folder.held or folder.running() is not None)
    run = folder.running()
    if run is None and folder.held:
        raise EmulatorError(
            f"a local SageMaker holds {folder.path / 'lock'} but does not say who it is; end it by hand"
        )
    return run


def _signal(folder: StateFolder, pid: int, number: signal.Signals) -> None:
    if not _holds(pid, folder.path / "lock"):
        if not folder.held:
            return
        raise EmulatorError(f"the local SageMaker of {folder.path} is not process {pid} of this system; stop it there")
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return
    except PermissionError:
        raise EmulatorError(f"process {pid}, the local SageMaker, is not yours to end") from None


def _holds(pid: int, lock: Path) -> bool:
    """Whether a process has the lock's file open: a folder can be shared with systems that count otherwise."""
    descriptors = Path(f"/proc/{pid}/fd")
    if not Path("/proc/self/fd").is_dir():
        return True
    try:
        wanted = lock.stat()
        return any(_is(descriptor, wanted) for descriptor in descriptors.iterdir())
    except PermissionError:
        return True
    except OSError:
        return False


def _is(descriptor: Path, wanted: os.stat_result) -> bool:
    try:
        return os.path.samestat(descriptor.stat(), wanted)
    except OSError:
        return False


def _within(seconds: float, happened: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + seconds
    while not happened():
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_S)
    return True
