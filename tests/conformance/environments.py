"""The oracle's environment: made once, outside the project's own, from pinned packages and a published wheel.

Nothing of vLLM-Omni is part of this repository; its wheel is fetched from the package index that pip is configured for.
"""

import shutil
import zipfile
from dataclasses import dataclass
from pathlib import Path

from tests.environments import CACHE as ROOT_CACHE
from tests.environments import ROOT, environment, locked, run

__all__ = ["REQUIREMENTS", "ROOT", "OracleEnvironment", "oracle_environment"]

REQUIREMENTS = Path(__file__).with_name("requirements.txt")
CACHE = ROOT_CACHE / "conformance"


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
    python = environment(cache, REQUIREMENTS)
    with locked(cache):
        source = _unpack_wheel(python, version, cache / f"vllm-omni-{version}")
    return OracleEnvironment(python=python, source=source)


def _unpack_wheel(python: Path, version: str, folder: Path) -> Path:
    if folder.exists():
        return folder
    partial = folder.with_suffix(".partial")
    shutil.rmtree(partial, ignore_errors=True)
    wanted = f"vllm-omni=={version}"
    # Only files of the wheel are read, by stand-ins for its dependencies: neither they nor its Python bound matter.
    options = ("--no-deps", "--only-binary", ":all:", "--ignore-requires-python", "--dest", str(partial))
    run(f"download {wanted}", str(python), "-m", "pip", "download", "--quiet", *options, wanted)
    (wheel,) = partial.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(partial)
    wheel.unlink()
    partial.rename(folder)
    return folder
