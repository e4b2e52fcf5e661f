"""`./dev bench`, with a folder of scripts and an interpreter that only notes what it is asked to run."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# Notes its arguments; benchmarks whose names begin with "bad" fail.
INTERPRETER = '#!/bin/sh\necho "$@" >>"$NOTES"\ncase $2 in benchmarks.bad*) exit 1 ;; esac\n'


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with `./dev` and an environment that looks set up."""
    for name in ("benchmarks", "requirements", ".venv/bin"):
        (tmp_path / name).mkdir(parents=True)
    shutil.copy2(ROOT / "dev", tmp_path)
    for name in ("requirements/dev.txt", "pyproject.toml"):
        (tmp_path / name).touch()
    interpreter = tmp_path / ".venv" / "bin" / "python"
    interpreter.write_text(INTERPRETER)
    interpreter.chmod(0o755)
    stamp = subprocess.run(["cksum"], input=(tmp_path / "dev").read_bytes(), capture_output=True, check=True).stdout
    (tmp_path / ".venv" / ".stamp").write_text(f"{stamp.decode().strip()} {tmp_path}\n")
    return tmp_path


@pytest.mark.parametrize(
    ("scripts", "status", "said"),
    [
        (["bad_one", "good", "bad_two", "_helper"], 1, "not as promised: bad_one bad_two"),
        (["good", "_helper"], 0, ""),
    ],
)
def test_all_scripts_run_and_then_it_fails_if_any_did(
    project: Path, scripts: list[str], status: int, said: str
) -> None:
    for script in scripts:
        (project / "benchmarks" / f"{script}.py").touch()
    notes = project / "notes"
    result = subprocess.run(
        [project / "dev", "bench", "--quick", "--json", "figures"],
        env={**os.environ, "NOTES": str(notes)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == status, result.stderr
    assert said in result.stderr
    ran = sorted(name for name in scripts if not name.startswith("_"))
    assert notes.read_text().splitlines() == [f"-m benchmarks.{name} --quick --json figures" for name in ran]
