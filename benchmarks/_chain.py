"""The local SageMaker in a process of its own, in front of a server that runs already, and what that process costs."""

from collections.abc import Iterator
from contextlib import contextmanager

import psutil
from benchmarks._server import Server

from antiphon.emulator.process import LocalSageMaker

_ENDPOINT = "benchmark"
TARGET = f"sagemaker://{_ENDPOINT}"
"""What a client connects to, inside `emulating`."""


@contextmanager
def emulating(url: str) -> Iterator[Server]:
    """Run it with one endpoint, the server at `url`; until the block ends, clients of this process speak to it."""
    with LocalSageMaker([f"{_ENDPOINT}={url}"], []) as local, local.applied():
        yield Server(local.endpoint_url, psutil.Process(local.pid))
