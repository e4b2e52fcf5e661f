"""The script of boto3 alone, and the AWS CLI, as their readers run them."""

import json
import shutil
import sys
from pathlib import Path

import pytest
from tests.examples.conftest import Run
from tests.examples.sound import samples, spoken

TEXT = "Hello there, this was complete before anyone spoke."


@pytest.mark.parametrize("arguments", [(), ("--whole",)], ids=["stream", "whole"])
def test_it_speaks(run_example: Run, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    done = run_example("boto3_invoke.py", "qwen3-tts", "--text", TEXT, "--output", "said.wav", *arguments)

    assert done.returncode == 0, done.stderr
    assert samples(tmp_path / "said.wav") == spoken(TEXT)
    assert "in said.wav" in done.stdout


@pytest.mark.parametrize("arguments", [(), ("--whole",)], ids=["stream", "whole"])
def test_what_the_container_refuses_is_told(run_example: Run, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    (tmp_path / "speech.wav").write_text("an older one")
    done = run_example("boto3_invoke.py", "qwen3-tts", "--voice", "nobody", *arguments)

    assert done.returncode == 1
    assert done.stderr.startswith("ModelError: ")
    assert "Invalid voice 'nobody'" in done.stderr
    assert (tmp_path / "speech.wav").read_text() == "an older one"


def test_a_folder_that_is_not_there_is_told_before_anything_is_spoken(run_example: Run) -> None:
    done = run_example("boto3_invoke.py", "qwen3-tts", "--output", "no/said.wav")

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith("error: cannot write no/said.wav: there is no folder no\n")


@pytest.mark.parametrize("missing", ["AWS_DEFAULT_REGION", "AWS_ACCESS_KEY_ID"])
def test_what_is_not_configured_is_told(run_example: Run, missing: str) -> None:
    done = run_example("boto3_invoke.py", "qwen3-tts", **{missing: None}, AWS_EC2_METADATA_DISABLED="true")

    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert done.stderr.endswith('; for a local SageMaker: eval "$(antiphon emulate env)"\n')


@pytest.fixture
def aws() -> str:
    """The AWS CLI of this environment, or of the machine."""
    command = shutil.which("aws", path=str(Path(sys.executable).parent)) or shutil.which("aws")
    if command is None:
        pytest.skip("needs the AWS CLI")
    return command


def test_the_aws_cli_invokes_the_endpoint(run: Run, tmp_path: Path, aws: str) -> None:
    body = tmp_path / "body.json"
    body.write_text(json.dumps({"input": TEXT, "response_format": "wav"}), encoding="utf-8")
    call = [
        "sagemaker-runtime",
        "invoke-endpoint",
        "--endpoint-name",
        "qwen3-tts",
        "--content-type",
        "application/json",
    ]

    done = run(aws, *call, "--custom-attributes", "route=/v1/audio/speech", "--body", f"fileb://{body}", "said.wav")

    assert done.returncode == 0, done.stderr
    assert samples(tmp_path / "said.wav") == spoken(TEXT)
    assert json.loads(done.stdout)["ContentType"] == "audio/wav"


def test_the_aws_cli_tells_what_the_container_refuses(run: Run, aws: str) -> None:
    call = [
        "sagemaker-runtime",
        "invoke-endpoint",
        "--endpoint-name",
        "qwen3-tts",
        "--content-type",
        "application/json",
    ]

    done = run(aws, *call, "--body", '{"input":"Hello.","voice":"nobody"}', "said.wav")

    assert done.returncode != 0
    assert "Invalid voice 'nobody'" in done.stderr
