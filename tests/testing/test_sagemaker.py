"""The local SageMaker as a class and as a fixture: AWS's own clients just work."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest

import antiphon
from antiphon import Audio, testing
from antiphon.emulator.state import StateFolder
from antiphon.testing import LocalSageMaker, LocalSageMakerError, local_sagemaker

TEXT = "Hello there."


@pytest.fixture(scope="module")
def running() -> Iterator[LocalSageMaker]:
    with LocalSageMaker() as emulator:
        yield emulator


@pytest.mark.anyio
async def test_the_client_speaks_through_it(running: LocalSageMaker) -> None:
    with running.applied():
        async with antiphon.connect(running.target("qwen3-tts")) as voice:
            heard = [event.data async for event in voice.say(TEXT) if isinstance(event, Audio)]
    assert sum(map(len, heard)) > 10_000
    events = running.events()
    sent = sum(event["bytes"] for event in events if event["event"] == "to_client" and event["data_type"] == "BINARY")
    assert sent == sum(map(len, heard))
    assert TEXT not in str(events)


def test_boto3_finds_it_by_the_environment(running: LocalSageMaker) -> None:
    with running.applied():
        client: Any = boto3.client("sagemaker-runtime")
        try:
            response = client.invoke_endpoint(
                EndpointName="qwen3-tts",
                ContentType="application/json",
                CustomAttributes="route=/v1/audio/speech",
                Body=b'{"input": "Hello.", "response_format": "wav"}',
            )
            with response["Body"] as body:
                assert body.read(4) == b"RIFF"
        finally:
            client.close()


def test_the_environment_is_as_it_was(running: LocalSageMaker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "work")
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    monkeypatch.delenv("AWS_CA_BUNDLE", raising=False)
    before = dict(os.environ)
    with running.applied():
        assert running.environ.items() <= os.environ.items()
        assert "AWS_PROFILE" not in os.environ
    assert dict(os.environ) == before


def test_it_says_where_it_is(running: LocalSageMaker) -> None:
    assert running.endpoint_url.startswith("https://127.0.0.1:")
    assert running.region == "us-east-1"
    assert running.ca_file.read_text().count("BEGIN CERTIFICATE") > 1
    target = running.target("qwen3-tts", variant="AllTraffic")
    assert target.startswith("sagemaker://qwen3-tts?endpoint_url=https%3A%2F%2F127.0.0.1%3A")
    assert target.endswith("&region=us-east-1&variant=AllTraffic")


def test_options_are_those_of_the_command_and_nothing_is_left() -> None:
    with LocalSageMaker(["a=ws://127.0.0.1:9"], ["--region", "eu-west-1"]) as emulator:
        folder = emulator.state_dir
        assert emulator.region == emulator.environ["AWS_DEFAULT_REGION"] == "eu-west-1"
        assert StateFolder.below(folder).held
    assert not folder.exists()
    with pytest.raises(RuntimeError, match="does not run"):
        _ = emulator.endpoint_url


def test_one_that_does_not_start_says_why() -> None:
    with pytest.raises(LocalSageMakerError, match=r"did not start: antiphon: 'a_b' is no endpoint name"):
        LocalSageMaker(["a_b"]).__enter__()


def test_importing_the_package_imports_neither_pytest_nor_the_emulator() -> None:
    unwanted = "{'pytest', 'h2', 'cryptography', 'antiphon.emulator', 'antiphon.testing.sagemaker'}"
    code = f"import sys, antiphon.testing; print({unwanted} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "set()\n"
    assert testing.local_sagemaker is local_sagemaker
    with pytest.raises(AttributeError, match="no attribute 'sing'"):
        _ = testing.sing


USERS_TESTS = """
import os
import antiphon
import pytest
from antiphon.testing import local_sagemaker

@pytest.fixture(scope="session")
def local_sagemaker_options():
    return ["--engine", "tone", "--region", "eu-west-1"]

def test_mine(local_sagemaker):
    assert os.environ["AWS_REGION"] == local_sagemaker.region == "eu-west-1"
    with antiphon.connect_sync("sagemaker://qwen3-tts") as voice:
        assert [event for event in voice.say("Hello.") if isinstance(event, antiphon.Audio)]
    assert {"request", "sidecar.opened", "to_client"} <= {event["event"] for event in local_sagemaker.events()}
"""


def test_the_fixture_in_a_session_of_its_user(tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").write_text(USERS_TESTS)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        str(tmp_path),
        str(tmp_path),
    ]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "1 passed" in result.stdout
