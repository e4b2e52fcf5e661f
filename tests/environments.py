"""Environments outside the project's own, for tests that need other packages: made once, then found again.

They are named by what is in them; what is not to be had from the package index that pip is configured for is told.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CACHE = ROOT / ".cache"

_PIP_TIMEOUT_S = 480.0


class EnvironmentUnavailableError(Exception):
    """Packages could not be had; the message says which step failed and what pip said."""


def environment(cache: Path, *requirements: Path) -> Path:
    """Return the interpreter of an environment with `requirements`; the first call makes it.

    Args:
        cache: the folder to make it in.
        requirements: files as pip takes them; with hashes for all that is in them or for nothing.

    Raises:
        EnvironmentUnavailableError: a package could not be fetched or installed.
    """
    with locked(cache):
        return _make(cache / f"environment-{requirements_key(*requirements)}", requirements)


def requirements_key(*requirements: Path) -> str:
    """Name the contents of `requirements` and this Python, so that a change of either makes a new environment."""
    digest = hashlib.sha256(sys.version.encode())
    for file in requirements:
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


@contextmanager
def locked(cache: Path) -> Iterator[None]:
    """Let one process at a time make things in `cache`."""
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / ".lock").open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def run(step: str, *command: str) -> None:
    """Run a command that may need the package index.

    Raises:
        EnvironmentUnavailableError: it failed; the message names the step.
    """
    variables = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    try:
        done = subprocess.run(
            command, env=variables, capture_output=True, text=True, timeout=_PIP_TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired:
        raise EnvironmentUnavailableError(f"could not {step}: no answer within {_PIP_TIMEOUT_S:.0f} s") from None
    if done.returncode != 0:
        raise EnvironmentUnavailableError(
            f"could not {step}; is the package index that pip is configured for within reach?\n{done.stderr.strip()}"
        )


def _make(folder: Path, requirements: tuple[Path, ...]) -> Path:
    python = folder / "bin" / "python"
    complete = folder / ".complete"
    if complete.exists():
        return python
    shutil.rmtree(folder, ignore_errors=True)
    run("create a virtual environment", sys.executable, "-m", "venv", str(folder))
    files = [option for file in requirements for option in ("-r", str(file))]
    run("install its packages", str(python), "-m", "pip", "install", "--quiet", *files)
    complete.touch()
    return python
