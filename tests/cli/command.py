"""Runs the real command in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

TIMEOUT_S = 100


def antiphon(
    *arguments: str, stdin: str | bytes = "", cwd: Path | None = None, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run `antiphon ARGUMENTS` with nothing of the surrounding ANTIPHON_* variables but those given."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("ANTIPHON_")}
    result = subprocess.run(
        [sys.executable, "-m", "antiphon", *arguments],
        input=stdin.encode() if isinstance(stdin, str) else stdin,
        capture_output=True,
        timeout=TIMEOUT_S,
        check=False,
        cwd=cwd,
        env={**clean, "COLUMNS": "200", **variables},
    )
    return subprocess.CompletedProcess(result.args, result.returncode, result.stdout.decode(), result.stderr.decode())


def assert_a_sentence(result: subprocess.CompletedProcess[str], status: int) -> str:
    """A user's mistake: this exit status, something said on standard error, no stack trace, nothing on standard output."""
    assert result.returncode == status, result.stderr
    assert result.stderr.strip()
    assert "Traceback" not in result.stderr
    return result.stderr
