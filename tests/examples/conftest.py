"""A local SageMaker for the examples, and a way to run them as their readers do."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from antiphon.testing import LocalSageMaker

EXAMPLES = Path(__file__).parents[2] / "examples"
TIMEOUT_S = 60.0

type Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def sagemaker() -> Iterator[LocalSageMaker]:
    with LocalSageMaker() as running:
        yield running


@pytest.fixture
def run(sagemaker: LocalSageMaker, tmp_path: Path) -> Run:
    """Run a command in a folder of its own, with nothing but the variables of `antiphon emulate env` and those given."""

    def command(*words: str, **variables: str | None) -> subprocess.CompletedProcess[str]:
        given = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), **sagemaker.environ, **variables}
        environ = {name: value for name, value in given.items() if value is not None}
        return subprocess.run(
            words, cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
        )

    return command


@pytest.fixture
def run_example(run: Run) -> Run:
    """Run a script of ours, told its name and its arguments."""
    return lambda name, *arguments, **variables: run(sys.executable, str(EXAMPLES / name), *arguments, **variables)
