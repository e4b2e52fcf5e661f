"""The client with every kind of the AWS SDK that it may meet, each in an environment of its own.

The AWS SDK changes its interface with every minor version; `antiphon.client.sagemaker.sdk` lists how.
"""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.environments import CACHE, ROOT, environment

from antiphon.testing import LocalSageMaker

pytestmark = [pytest.mark.compat, pytest.mark.timeout(600)]

REQUIREMENTS = Path(__file__).with_name("aws_sdks")
VERSIONS = ["0.4.0", "0.9.0", "0.10.0", "0.12.0"]
SUITE = ["tests/client/sagemaker/test_transport.py", "tests/client/sagemaker/test_chain.py"]


@pytest.fixture(scope="module")
def chain() -> Iterator[str]:
    """What `tests/client/sagemaker/test_chain.py` is told about a local SageMaker."""
    with LocalSageMaker() as local:
        port = int(local.endpoint_url.rsplit(":", 1)[1])
        yield json.dumps({"environ": dict(local.environ), "port": port, "event_log": str(local.event_log)})


def run(python: Path, *arguments: str, **variables: str) -> str:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYTEST"))}
    done = subprocess.run(
        [str(python), *arguments],
        cwd=ROOT,
        env={**inherited, "PYTHONPATH": str(ROOT / "src"), "PYTHONDONTWRITEBYTECODE": "1", **variables},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("version", VERSIONS)
def test_the_client_works_with(version: str, chain: str) -> None:
    python = environment(CACHE / "aws-sdks", REQUIREMENTS / "common.txt", REQUIREMENTS / f"{version}.txt")

    told = run(python, "-c", "from antiphon.client.sagemaker import sdk; sdk.load_sdk(); print(sdk.version())")
    assert told.strip() == version
    # The project's warnings filter is kept: an SDK that warns of what is used of it will break it next.
    result = run(python, "-m", "pytest", "-q", *SUITE, ANTIPHON_TEST_CHAIN=chain)
    assert " passed" in result
    assert "error" not in result


def test_all_that_is_shared_is_what_the_project_is_tested_with() -> None:
    pinned = {line.split()[0] for line in (ROOT / "requirements" / "dev.txt").read_text().splitlines() if "==" in line}
    shared = {line.split()[0] for line in (REQUIREMENTS / "common.txt").read_text().splitlines() if "==" in line}

    assert shared <= pinned


def test_the_newest_is_the_project_s_own() -> None:
    assert f"aws-sdk-sagemaker-runtime-http2=={VERSIONS[-1]} " in (ROOT / "requirements" / "dev.txt").read_text()
