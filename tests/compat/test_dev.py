"""`./dev` on a machine it has never seen: a fresh clone, a fresh home, little in the environment."""

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = [pytest.mark.compat, pytest.mark.timeout(600)]

# What a machine may need to reach its package index, and where its Pythons may be.
PASSED_ON = ("SSL_CERT_FILE", "PIP_CERT", "PIP_CONFIG_FILE", "PYENV_ROOT", "ANTIPHON_PYTHON")


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The working tree's files as git would clone them, whether committed yet or not."""
    folder = tmp_path_factory.mktemp("clone") / "antiphon"
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    return folder


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment with a home of its own and the system's path only."""
    kept = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    return {**kept, "HOME": str(tmp_path_factory.mktemp("home")), "PATH": "/usr/bin:/bin"}


def dev(clone: Path, environment: dict[str, str], *arguments: str, cwd: Path | None = None) -> str:
    result = subprocess.run(
        [clone / "dev", *arguments], cwd=cwd or clone, env=environment, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_it_sets_itself_up_and_then_costs_nothing(clone: Path, bare: dict[str, str], tmp_path: Path) -> None:
    assert dev(clone, bare, "run", "antiphon", "--version").startswith("antiphon ")
    started = time.perf_counter()
    assert dev(clone, bare, "run", "pwd", cwd=tmp_path).strip() == str(tmp_path.resolve())
    assert time.perf_counter() - started < 1


def test_it_does_without_uv(clone: Path, bare: dict[str, str], tmp_path: Path) -> None:
    """Where uv cannot be installed, pip does the same work from the same lock."""
    other = tmp_path / "antiphon"
    shutil.copytree(clone, other, ignore=shutil.ignore_patterns(".venv", ".cache"))
    (other / ".cache").mkdir()
    (other / ".cache" / "uv").write_text("a file where the private copy would go")
    assert dev(other, bare, "run", "antiphon", "--version").startswith("antiphon ")


@pytest.mark.parametrize("arguments", [[], ["--help"]])
def test_help_needs_nothing(clone: Path, bare: dict[str, str], arguments: list[str]) -> None:
    assert "test [--all]" in dev(clone, bare, *arguments)


def test_an_unknown_command_is_a_usage_error(clone: Path, bare: dict[str, str]) -> None:
    result = subprocess.run([clone / "dev", "dance"], env=bare, capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert "usage:" in result.stderr


def test_the_lock_names_no_index() -> None:
    lock = (ROOT / "requirements" / "dev.txt").read_text()
    assert "://" not in lock
    assert "--hash=sha256:" in lock
    assert "index-url" not in lock
