"""The script of the AWS SDK alone, as its reader runs it."""

import ast
import asyncio
import json
import runpy
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest
from tests.examples.conftest import EXAMPLES, Run
from tests.examples.sound import samples, spoken

TEXT = "Hello there, this was written word by word."
NAME = "aws_sdk_only.py"


def test_it_streams_text_in_and_sound_out(run_example: Run, tmp_path: Path) -> None:
    done = run_example(NAME, "qwen3-tts", "--text", TEXT, "--words-per-second", "50", "--output", "said.wav")

    assert done.returncode == 0, done.stderr
    assert samples(tmp_path / "said.wav") == spoken(TEXT)
    lines = done.stdout.splitlines()
    markers = [json.loads(line)["type"] for line in lines if line.startswith("{")]
    assert markers == ["audio.start", "audio.done", "session.done"]
    assert any(line.strip().endswith(f" chunks, {len(spoken(TEXT))} bytes") for line in lines)
    assert done.stderr == ""


def test_what_the_container_refuses_is_told(run_example: Run, tmp_path: Path) -> None:
    done = run_example(NAME, "qwen3-tts", "--voice", "nobody", "--output", "said.wav")

    assert done.returncode != 0
    assert "Invalid voice 'nobody'" in done.stderr
    assert not (tmp_path / "said.wav").exists()


def test_an_endpoint_that_does_not_exist_is_told(run_example: Run) -> None:
    done = run_example(NAME, "nowhere")

    assert (done.returncode, done.stderr) == (1, "InputValidationError: Endpoint nowhere not found.\n")


def test_a_text_without_words_is_told(run_example: Run, tmp_path: Path) -> None:
    done = run_example(NAME, "qwen3-tts", "--text", "")

    assert (done.returncode, done.stderr) == (1, "there was nothing to say in that text\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--words-per-second", "0"], "--words-per-second must be more than 0"),
        (["--output", "no/said.wav"], "cannot write no/said.wav: there is no folder no"),
    ],
)
def test_what_cannot_be_is_told_before_anything_is_spoken(run_example: Run, arguments: list[str], said: str) -> None:
    done = run_example(NAME, "qwen3-tts", *arguments)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith(f"error: {said}\n")


@pytest.mark.anyio
async def test_what_fails_while_it_is_written_ends_the_waiting_for_speech() -> None:
    class Broken:
        async def send(self, _: object) -> None:
            raise OSError("the stream broke")

    script = runpy.run_path(str(EXAMPLES / NAME))
    script["write"].__globals__["END_TIMEOUT_S"] = 0
    arrived: asyncio.Queue[Any] = asyncio.Queue(maxsize=64)
    await script["write"](Broken(), Namespace(text=TEXT, voice="ryan", words_per_second=50), arrived)

    with pytest.raises(OSError, match="the stream broke"):
        await script["listen"](arrived)


def test_without_a_region_one_is_told_where_to_get_it(run_example: Run) -> None:
    done = run_example(NAME, "qwen3-tts", AWS_REGION=None)

    assert done.returncode == 1
    assert 'eval "$(antiphon emulate env)"' in done.stderr


def test_help_says_how_to_run_it(run_example: Run) -> None:
    done = run_example(NAME, "--help")

    assert done.returncode == 0
    assert 'eval "$(antiphon emulate env)"' in done.stdout


def test_it_is_the_sdk_alone() -> None:
    tree = ast.parse((EXAMPLES / NAME).read_text(encoding="utf-8"))
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    imported |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}

    roots = {name.partition(".")[0] for name in imported}
    assert {"aws_sdk_sagemaker_runtime_http2", "smithy_http"} < roots
    assert not roots & {"antiphon", "httpx", "websockets", "boto3"}
