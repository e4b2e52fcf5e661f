"""The AWS SDK through the runtime into a real server, and back."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from aws_sdk_sagemaker_runtime_http2.client import (
    AsyncSageMakerRuntimeHTTP2Client,
)
from aws_sdk_sagemaker_runtime_http2.config import (
    AsyncSageMakerRuntimeHTTP2Config,
)
from aws_sdk_sagemaker_runtime_http2.models import (
    InputValidationError,
    InvokeEndpointWithBidirectionalStreamInput,
    ModelError,
    ModelStreamError,
    RequestPayloadPart,
    RequestStreamEventPayloadPart,
)
from awscrt import io
from smithy_core.exceptions import CallError
from smithy_http.aio.crt import AWSCRTHTTPClient
from tests.emulator.runtime.driving import Backend, Certificate, Log, Registry, rig, runtime_for

from antiphon.emulator.wire.sigv4 import SigningKeys
from antiphon.server.child import child_server

pytestmark = pytest.mark.anyio

SECRET = "secret"  # noqa: S105 - of nothing
KEYS = SigningKeys({"AKID": SECRET}, "us-east-1")
SPEECH = "v1/audio/speech/stream"
MESSAGES = (
    {"type": "session.config", "voice": "Vivian", "response_format": "pcm", "stream_audio": True},
    {"type": "input.text", "text": "Hello there, this is a test."},
    {"type": "input.done"},
)


class Transport(AWSCRTHTTPClient):
    """The SDK's own, which trusts the runtime."""

    def __init__(self, authority: Path) -> None:
        super().__init__()
        options = io.TlsContextOptions()
        options.override_default_trust_store_from_path(None, str(authority))
        self._tls_ctx = io.ClientTlsContext(options)

    def __deepcopy__(self, memo: object) -> "Transport":
        return self


async def sdk(port: int, certificate: Certificate, secret: str = SECRET) -> AsyncSageMakerRuntimeHTTP2Client:
    config = await AsyncSageMakerRuntimeHTTP2Config.resolve(
        endpoint_uri=f"https://localhost:{port}",
        region="us-east-1",
        aws_access_key_id="AKID",
        aws_secret_access_key=secret,
        transport=Transport(certificate.authority),
    )
    return AsyncSageMakerRuntimeHTTP2Client(config)


async def opened(client: AsyncSageMakerRuntimeHTTP2Client, endpoint: str, path: str = SPEECH) -> tuple[Any, Any]:
    """The stream, and what to receive from."""
    async with asyncio.timeout(10):
        stream = await client.invoke_endpoint_with_bidirectional_stream(
            InvokeEndpointWithBidirectionalStreamInput(endpoint_name=endpoint, model_invocation_path=path)
        )
        try:
            _, output = await stream.await_output()
        except Exception:
            # What writes the input waits for more of it otherwise, until the interpreter finds it.
            await stream.input_stream.close()
            raise
    return stream, output


async def say(stream: Any, message: dict[str, Any]) -> None:
    value = RequestPayloadPart(bytes_=json.dumps(message).encode(), data_type="UTF8", completion_state="COMPLETE")
    await stream.input_stream.send(RequestStreamEventPayloadPart(value=value))


async def hear(output: Any) -> tuple[list[str], int]:
    """The types of the messages up to ``session.done``, and the bytes of sound among them."""
    types: list[str] = []
    sound = 0
    async with asyncio.timeout(20):
        while "session.done" not in types:
            part = (await output.receive()).value
            if part.data_type == "UTF8":
                types.append(json.loads(part.bytes_)["type"])
            else:
                sound += len(part.bytes_)
    return types, sound


async def test_speech_through_the_whole_chain(certificate: Certificate) -> None:
    log = Log()
    async with child_server("--engine", "tone", "--dialect", "0.26") as url:
        registry = Registry({"tone": Backend(url)})
        async with runtime_for(registry, certificate, log, keys=KEYS) as (_, port):
            client = await sdk(port, certificate)
            stream, output = await opened(client, "tone")
            for message in MESSAGES:
                await say(stream, message)
            types, sound = await hear(output)
            assert types == ["audio.start", "audio.done", "session.done"]
            assert sound > 48_000
            await say(stream, {"type": "session.close"})
            with pytest.raises(ModelStreamError, match="code=1000"):
                await output.receive()
            await stream.input_stream.close()
            with pytest.raises(ModelError):
                await opened(client, "tone", "v1/nothing/here")
            await client.close()
    assert sum(event["bytes"] for event in log.all("to_client") if event["data_type"] == "BINARY") == sound


async def test_what_the_sdk_says_of_refusals(certificate: Certificate) -> None:
    async with rig(certificate, keys=KEYS) as it:
        client = await sdk(it.port, certificate)
        with pytest.raises(InputValidationError):
            await opened(client, "unknown")
        stranger = await sdk(it.port, certificate, "wrong")
        with pytest.raises(CallError, match="403"):
            await opened(stranger, "ep")
        await client.close()
        await stranger.close()


async def test_the_end_of_the_sdks_input_is_an_empty_event(certificate: Certificate) -> None:
    async with rig(certificate, keys=KEYS) as it:
        client = await sdk(it.port, certificate)
        stream, output = await opened(client, "ep")
        await stream.input_stream.close()
        assert [event["empty_event"] for event in await it.logged("input.ended")] == [True]
        container = await it.container.connected()
        container.close(1000)
        with pytest.raises(ModelStreamError):
            await output.receive()
        await client.close()
