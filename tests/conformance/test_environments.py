"""Making the oracle's environment: what triggers it, and what is said when it fails."""

from pathlib import Path

import pytest
from tests.conformance import environments
from tests.conformance.environments import oracle_environment
from tests.environments import EnvironmentUnavailableError, requirements_key


def test_other_requirements_make_another_environment(tmp_path: Path) -> None:
    one, two = tmp_path / "one.txt", tmp_path / "two.txt"
    one.write_text("numpy==2.0.0\n")
    two.write_text("numpy==2.0.1\n")
    assert requirements_key(one) != requirements_key(two)


def test_the_same_requirements_find_the_same_environment(tmp_path: Path) -> None:
    one = tmp_path / "one.txt"
    one.write_text("numpy==2.0.0\n")
    assert requirements_key(one) == requirements_key(one)


def test_a_package_that_cannot_be_had_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    requirements = tmp_path / "requirements.txt"
    requirements.write_text("")
    monkeypatch.setattr(environments, "REQUIREMENTS", requirements)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(
        EnvironmentUnavailableError, match=r"could not download vllm-omni==0\.0\.0; is the package index"
    ):
        oracle_environment("0.0.0", tmp_path / "cache")
