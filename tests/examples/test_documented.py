"""What is written about the examples is what they take."""

import re
import shlex
from pathlib import Path

import pytest
from tests.examples.conftest import EXAMPLES, Run

from antiphon.emulator.settings import EmulatorSettings

ROOT = EXAMPLES.parent
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), EXAMPLES / "README.md", *EXAMPLES.glob("*.py")]
COMMAND = re.compile(r"^ *python examples/(?P<name>\w+\.py)(?P<arguments>.*)$", re.MULTILINE)
COMMANDS = [(found["name"], found["arguments"]) for text in DOCUMENTS for found in COMMAND.finditer(text.read_text())]


@pytest.mark.parametrize(("name", "arguments"), sorted(set(COMMANDS)))
def test_a_command_that_is_shown_works(run_example: Run, tmp_path: Path, name: str, arguments: str) -> None:
    words = shlex.split(arguments, comments=True)
    done = run_example(name, *words)

    assert done.returncode == 0, done.stderr
    assert list(tmp_path.glob("*.wav"))


def test_the_file_of_settings_that_is_shown_is_one(tmp_path: Path) -> None:
    (shown,) = re.findall(r"^```toml\n(.*?)^```", (ROOT / "docs" / "emulator.md").read_text(), re.DOTALL | re.MULTILINE)
    file = tmp_path / "local.toml"
    file.write_text(shown)

    assert [spec.name for spec in EmulatorSettings.load(file).specs] == ["qwen3-tts", "my-model"]


def test_both_are_shown() -> None:
    assert {name for name, _ in COMMANDS} == {path.name for path in EXAMPLES.glob("*.py")}
