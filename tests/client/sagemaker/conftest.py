"""A runtime that follows a script, and an AWS configuration that leads to it and nowhere else."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Protocol

import pytest
from tests.client.sagemaker.runtime import KEY_ID, REGION, SECRET, Runtime, Script

from antiphon.client.sagemaker import clients


@pytest.fixture(autouse=True)
def aws(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    """Keys and a region from the environment, and nothing of the machine's own configuration."""
    for name in [name for name in os.environ if name.startswith("AWS_") or name == "SSL_CERT_FILE"]:
        monkeypatch.delenv(name)
    configuration = {
        "AWS_ACCESS_KEY_ID": KEY_ID,
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_REGION": REGION,
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CONFIG_FILE": str(tmp_path / "config"),
        "AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "credentials"),
    }
    for name, value in configuration.items():
        monkeypatch.setenv(name, value)
    return monkeypatch


class Listening(Protocol):
    def __call__(self, script: Script) -> AbstractAsyncContextManager[Runtime]: ...


@pytest.fixture
def runtime(aws: pytest.MonkeyPatch, certificate: tuple[Path, Path]) -> Listening:
    """Run a script as the endpoint; at its end every signature was right and nothing of the client is left."""

    @asynccontextmanager
    async def listening(script: Script) -> AsyncIterator[Runtime]:
        async with Runtime(script).listening(certificate) as server:
            aws.setenv("AWS_ENDPOINT_URL_SAGEMAKER_RUNTIME_HTTP2", server.url)
            aws.setenv("AWS_CA_BUNDLE", str(certificate[0]))
            yield server
            await asyncio.wait_for(server.idle.wait(), 5)
            assert server.faults == []
            assert clients.connections() == []
            assert [task for task in asyncio.all_tasks() if task.get_name().startswith("antiphon")] == []

    return listening
