"""The oracle's environment: made once, outside the project's own, from pinned packages and a published wheel.

Nothing of vLLM-Omni is part of this repository; its wheel is fetched from the package index that pip is configured for.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
REQUIREMENTS = Path(__file__).with_name("requirements.txt")
CACHE = ROOT / ".cache" / "conformance"

_PIP_TIMEOUT_S = 480.0


class EnvironmentUnavailableError(Exception):
    """The oracle's packages could not be had; the message says which step failed and what pip said."""


@dataclass(frozen=True, slots=True)
class OracleEnvironment:
    """Where one release of vLLM-Omni can be run.

    Attributes:
        python: the interpreter of the environment.
        source: the folder that holds the unpacked package ``vllm_omni``.
    """

    python: Path
    source: Path


def oracle_environment(version: str, cache: Path = CACHE) -> OracleEnvironment:
    """Return the environment for `version` of vllm-omni; the first call makes it (about half a minute).

    Args:
        version: a released version of the wheel, such as ``0.30.0``.
        cache: the folder to make it in.

    Raises:
        EnvironmentUnavailableError: a package could not be fetched or installed.
    """
    cache.mkdir(parents=True, exist_ok=True)
    with _lock(cache):
        python = _make_venv(cache / f"environment-{requirements_key()}")
        source = _unpack_wheel(python, version, cache / f"vllm-omni-{version}")
    return OracleEnvironment(python=python, source=source)


def requirements_key(requirements: Path = REQUIREMENTS) -> str:
    """Name the contents of `requirements` and this Python, so that a change of either makes a new environment."""
    digest = hashlib.sha256(requirements.read_bytes())
    digest.update(sys.version.encode())
    return digest.hexdigest()[:16]


@contextmanager
def _lock(cache: Path) -> Iterator[None]:
    """Let one process at a time make environments."""
    with (cache / ".lock").open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _make_venv(folder: Path) -> Path:
    python = folder / "bin" / "python"
    complete = folder / ".complete"
    if complete.exists():
        return python
    shutil.rmtree(folder, ignore_errors=True)
    _run("create a virtual environment", sys.executable, "-m", "venv", str(folder))
    _run("install its packages", str(python), "-m", "pip", "install", "--quiet", "-r", str(REQUIREMENTS))
    complete.touch()
    return python


def _unpack_wheel(python: Path, version: str, folder: Path) -> Path:
    if folder.exists():
        return folder
    partial = folder.with_suffix(".partial")
    shutil.rmtree(partial, ignore_errors=True)
    wanted = f"vllm-omni=={version}"
    # Only files of the wheel are read, by stand-ins for its dependencies: neither they nor its Python bound matter.
    options = ("--no-deps", "--only-binary", ":all:", "--ignore-requires-python", "--dest", str(partial))
    _run(f"download {wanted}", str(python), "-m", "pip", "download", "--quiet", *options, wanted)
    (wheel,) = partial.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(partial)
    wheel.unlink()
    partial.rename(folder)
    return folder


def _run(step: str, *command: str) -> None:
    environment = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=_PIP_TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired:
        raise EnvironmentUnavailableError(f"could not {step}: no answer within {_PIP_TIMEOUT_S:.0f} s") from None
    if done.returncode != 0:
        raise EnvironmentUnavailableError(
            f"could not {step}; is the package index that pip is configured for within reach?\n{done.stderr.strip()}"
        )
