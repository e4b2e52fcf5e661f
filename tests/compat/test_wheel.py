"""The built wheel, installed with plain pip into an empty environment."""

import json
import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = [pytest.mark.compat, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder], cwd=ROOT, check=True)
    (built,) = folder.glob("*.whl")
    return built


def test_the_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0].partition("-")[0] for name in names} == {"antiphon"}
    assert {"antiphon/py.typed", "antiphon/studio/static/player.js"} <= set(names)
    assert any(name.endswith("licenses/NOTICE") for name in names)


@pytest.mark.parametrize(
    ("extras", "target"), [("", "ws://127.0.0.1:"), ("[emulator,sagemaker]", "sagemaker://qwen3-tts")]
)
def test_the_demo_runs_from_it(wheel: Path, extras: str, target: str, tmp_path: Path) -> None:
    environment = tmp_path / "environment"
    venv.create(environment, with_pip=True)
    subprocess.run([environment / "bin" / "pip", "install", "--quiet", f"{wheel}{extras}"], check=True)
    home = tmp_path / "home"
    home.mkdir()
    ours = ("ANTIPHON_", "PYTHON", "AWS_")
    variables = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    subprocess.run(
        [environment / "bin" / "antiphon", "demo", "--json", "report.json"],
        cwd=home,
        env={**variables, "HOME": str(home), "XDG_CACHE_HOME": str(home / "cache")},
        check=True,
    )
    report = json.loads((home / "report.json").read_text())
    assert report["engine"] == "hibari"
    assert report["target"].startswith(target)
    assert report["first_audible_s"] < report["text_complete_s"]
    assert (home / report["wav"]).stat().st_size == report["bytes"] + 44
