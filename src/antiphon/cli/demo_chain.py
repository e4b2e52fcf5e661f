"""What the demo speaks through: the longest chain that is installed."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib import import_module, metadata
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from antiphon.cli.failures import reported
from antiphon.server.child import child_server

if TYPE_CHECKING:
    from antiphon.emulator.process import LocalSageMaker

ENDPOINT = "qwen3-tts"
SDK = "aws-sdk-sagemaker-runtime-http2"
# What AWS's images speak.
DIALECT = "0.26"


@dataclass(frozen=True, slots=True)
class Chain:
    """A way to a voice.

    Attributes:
        target: what the client connects to.
        words: what there is between the two, for people.
        sdk_version: of the AWS SDK, if it takes part.
        event_log: where it is recorded what crosses the wire, if it is.
    """

    target: str
    words: str
    sdk_version: str | None = None
    event_log: Path | None = None


def missing() -> str | None:
    """Return a package that the whole chain lacks here; None if it has all."""
    try:
        for module in ("boto3", "awscrt", "aws_sdk_sagemaker_runtime_http2", "antiphon.emulator.local"):
            import_module(module)
    except ModuleNotFoundError as error:
        return error.name
    return None


@asynccontextmanager
async def through_sagemaker(console: Console, engine: str, event_log: Path) -> AsyncIterator[Chain]:
    """Start a local SageMaker with an endpoint that has a voice, and end both.

    Args:
        console: to say that it takes a while.
        engine: of the voice.
        event_log: where to leave what has crossed the wire.
    """
    # An extra; and it is slow to import, which the short way need not wait for.
    from antiphon.emulator.process import LocalSageMaker, LocalSageMakerError  # noqa: PLC0415

    local = LocalSageMaker([ENDPOINT], ["--engine", engine, "--dialect", DIALECT])
    starting = asyncio.create_task(asyncio.to_thread(local.__enter__))
    try:
        with (
            reported(LocalSageMakerError),
            console.status(f"starting a local SageMaker and loading its voice ({engine}) …"),
        ):
            await asyncio.shield(starting)
        with local.applied():
            version = metadata.version(SDK)
            words = f"client → AWS SDK {version} → TLS, HTTP/2 → runtime → sidecar → server → {engine}"
            yield Chain(f"sagemaker://{ENDPOINT}", words, version, event_log)
            await asyncio.to_thread(_keep_events, local, event_log)
    finally:
        await _end(local, starting)


async def _end(local: "LocalSageMaker", starting: asyncio.Task[object]) -> None:
    """End it, even if it is still being started, which the end makes fail; unless its process came in between."""
    await asyncio.to_thread(local.__exit__, None, None, None)
    await asyncio.gather(starting, return_exceptions=True)
    await asyncio.to_thread(local.__exit__, None, None, None)


def _keep_events(local: "LocalSageMaker", path: Path) -> None:
    path.write_text("".join(json.dumps(event) + "\n" for event in local.events()), encoding="utf-8")


@asynccontextmanager
async def over_websocket(console: Console, engine: str) -> AsyncIterator[Chain]:
    """Start a server that has a voice, and end it."""
    with console.status(f"starting a server and loading its voice ({engine}) …"):
        starting = child_server("--engine", engine)
        url = await starting.__aenter__()
    try:
        yield Chain(url.replace("http://", "ws://", 1), f"client → WebSocket → server → {engine}")
    finally:
        await starting.__aexit__(None, None, None)
