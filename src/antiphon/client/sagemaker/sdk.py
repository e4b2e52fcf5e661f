"""The AWS SDK ``aws-sdk-sagemaker-runtime-http2``, one face of it for all its versions.

The SDK is experimental and changes with every minor version. What is used of it here, found by looking and not by its
version number, is the serialisation and the signing of requests and events. What changed:

====================  ===================================================================================================
0.4                   ``SageMakerRuntimeHTTP2Client`` with ``Config(…)``. No configured endpoint URL or region is read.
                      The end of input is no signed event. An event of an unknown type raises. The configuration, and a
                      transport in it, is copied for every call. Its CRT (0.28) has no flow control, and tells the end of
                      a response only with that of the request: an error is not reported before the input has ended, a
                      response that ends early never.
0.9                   The client is ``AsyncSageMakerRuntimeHTTP2Client``; the old name warns. The end of input is a signed
                      event. An event of an unknown type is delivered as such. A transport must say that it
                      ``SUPPORTS_DUPLEX_STREAMING``.
0.10                  ``Config`` is gone: ``await AsyncSageMakerRuntimeHTTP2Config.resolve(…)``; constructing it raises.
                      The environment and the configuration files are read.
0.11                  The old client's name is gone. The default transport is aiohttp's, which cannot do this operation:
                      ``UnsupportedTransportError``. CRT is an extra.
0.12                  The client has ``close()``.
all                   The host is resolved without ``:8443``. A call without credentials waits for ever. ``receive`` is
                      of no use after it was cancelled. Concurrent ``send`` breaks the order and the signatures. A lost
                      connection reads as the end of the stream.
====================  ===================================================================================================

So nothing is left to defaults: the transport is ours (`antiphon.client.sagemaker.http2`), and so are the endpoint, the
region and the keys, which stay the same for one stream.
"""

import asyncio
import logging
from dataclasses import dataclass
from functools import cache
from importlib import import_module, metadata
from typing import Any, Self

from antiphon.client.errors import ConnectError
from antiphon.client.sagemaker.call import Call
from antiphon.client.sagemaker.credentials import Account, Keys
from antiphon.client.sagemaker.exchange import StreamLostError
from antiphon.client.sagemaker.http2 import Connection
from antiphon.client.sagemaker.parts import Part
from antiphon.client.sagemaker.target import SageMakerTarget

DISTRIBUTION = "aws-sdk-sagemaker-runtime-http2"

_PACKAGE = "aws_sdk_sagemaker_runtime_http2"

_UNWIND_S = 1.0

# At DEBUG they log events (text, audio) and requests. Whoever wants that sets the level of these very loggers.
_TALKATIVE = ("smithy_aws_event_stream", "smithy_core", "smithy_http", "aws_sdk_signers", "smithy_aws_core")


@dataclass(frozen=True, slots=True)
class Sdk:
    """What is used of the SDK."""

    client: Any
    config: Any
    models: Any
    identity: Any


@cache
def load_sdk() -> Sdk:
    """Import the SDK; slow the first time.

    Raises:
        ImportError: it is not installed.
        ConnectError: it is one that is not known here.
    """
    clients, config, models = (import_module(f"{_PACKAGE}.{name}") for name in ("client", "config", "models"))
    identities = import_module("smithy_aws_core.identity")
    for name in _TALKATIVE:
        logger = logging.getLogger(name)
        if logger.level == logging.NOTSET:
            logger.setLevel(logging.INFO)
    # The newest name first: an old one may warn.
    client = _first(clients, "AsyncSageMakerRuntimeHTTP2Client", "SageMakerRuntimeHTTP2Client")
    settings = _first(config, "AsyncSageMakerRuntimeHTTP2Config", "Config")
    return Sdk(client, settings, models, identities.AWSCredentialsIdentity)


def version() -> str:
    """The installed version of the SDK."""
    return metadata.version(DISTRIBUTION)


def _first(module: Any, *names: str) -> Any:
    for name in names:
        found = getattr(module, name, None)
        if found is not None:
            return found
    raise ConnectError(f"{DISTRIBUTION} {version()} has neither {' nor '.join(names)}; versions 0.4 to 0.12 are known")


class _OneIdentity:
    """Resolves to the same keys for the request and each event: a chain of signatures has one key."""

    def __init__(self, sdk: Sdk, keys: Keys) -> None:
        self._identity = sdk.identity(
            access_key_id=keys.access_key_id,
            secret_access_key=keys.secret_access_key,
            session_token=keys.session_token,
        )

    async def get_identity(self, **_: object) -> Any:
        return self._identity

    def __deepcopy__(self, memo: object) -> Self:
        return self


class SdkStream:
    """An open stream. One task receives, one sends, and neither is cancelled while it does."""

    def __init__(self, sdk: Sdk, call: Call, events: Any, receiver: Any) -> None:
        self._models = sdk.models
        self._call = call
        self._input = events
        self._receiver = receiver

    async def send(self, text: str) -> None:
        """Send a text message; waits while the server takes nothing.

        Raises:
            Exception: the SDK's; the stream is over.
        """
        models = self._models
        part = models.RequestPayloadPart(bytes_=text.encode(), data_type="UTF8", completion_state="COMPLETE")
        await self._input.send(models.RequestStreamEventPayloadPart(value=part))

    async def receive(self) -> Part | None:
        """Wait for a part; None when the server has ended the stream.

        Raises:
            Exception: the SDK's, or a `StreamLostError`; `antiphon.client.sagemaker.failures.ending` knows them.
        """
        try:
            event = await self._receive_known()
        except OSError as error:
            raise error.__cause__ or error from None
        if event is None:
            return None
        part = event.value
        return Part(part.bytes_ or b"", text=part.data_type == "UTF8", last=part.completion_state != "PARTIAL")

    async def _receive_known(self) -> Any:
        while True:
            event = await self._receiver.receive()
            if event is None or isinstance(event, self._models.ResponseStreamEventPayloadPart):
                return event

    async def end_input(self) -> None:
        """Tell the server that no more will be sent, and wait until it has ended the stream too."""
        await self._input.close()
        await self._call.complete()

    async def abandon(self) -> bool:
        """Let who still waits for this stream hear that it is over, and leave no task of it behind.

        Returns:
            Whether the server has ended it too. If not, only the end of the connection will.
        """
        return await self._call.abandon("the stream was closed")


async def open_stream(target: SageMakerTarget, account: Account, connection: Connection, timeout_s: float) -> SdkStream:
    """Open a stream on a connection.

    Raises:
        TimeoutError: the service has not answered.
        RefusedError: it has, with an error.
        CrtError: the connection takes no more streams; nothing was sent.
        StreamLostError: it broke.
    """
    sdk = load_sdk()
    call = Call(connection)
    opening = asyncio.create_task(_open(sdk, call, target, account), name="antiphon-sagemaker-open")
    opened = False
    try:
        opened = bool((await asyncio.wait({opening}, timeout=timeout_s))[0])
        if not opened:
            raise TimeoutError
        if (error := opening.exception()) is not None:
            opened = False
            # The SDK wraps it, in a way that depends on its version.
            raise call.failure or error
        return opening.result()
    finally:
        if not opened:
            await _unwind(call, opening)


async def _unwind(call: Call, opening: "asyncio.Task[SdkStream]") -> None:
    """Let the SDK's own tasks end, with the call, and see their failures."""
    await call.abandon("the stream was not opened")
    await asyncio.wait({opening}, timeout=_UNWIND_S)
    opening.cancel()  # it waits for what will not come
    await asyncio.wait({opening})
    if not opening.cancelled():
        opening.exception()


async def _open(sdk: Sdk, call: Call, target: SageMakerTarget, account: Account) -> SdkStream:
    client = sdk.client(config=await _config(sdk, call, account))
    stream = await client.invoke_endpoint_with_bidirectional_stream(
        sdk.models.InvokeEndpointWithBidirectionalStreamInput(
            endpoint_name=target.endpoint, target_variant=target.variant, model_invocation_path=target.path
        )
    )
    _, receiver = await stream.await_output()
    if receiver is None:
        raise StreamLostError("the AWS SDK opened no stream")
    return SdkStream(sdk, call, stream.input_stream, receiver)


async def _config(sdk: Sdk, call: Call, account: Account) -> Any:
    settings = {
        "region": account.region,
        "endpoint_uri": account.url,
        "aws_credentials_identity_resolver": _OneIdentity(sdk, account.keys),
        "transport": call,
    }
    resolve = getattr(sdk.config, "resolve", None)
    return sdk.config(**settings) if resolve is None else await resolve(**settings)
