"""The AWS SDK as it comes, with its own transport: what Antiphon's own transport on the same SDK is compared with."""

import os
from typing import Any

from aws_sdk_sagemaker_runtime_http2.client import AsyncSageMakerRuntimeHTTP2Client
from aws_sdk_sagemaker_runtime_http2.config import AsyncSageMakerRuntimeHTTP2Config
from aws_sdk_sagemaker_runtime_http2.models import (
    InvokeEndpointWithBidirectionalStreamInput,
    RequestPayloadPart,
    RequestStreamEventPayloadPart,
    ResponseStreamEventPayloadPart,
)
from smithy_http.aio.crt import AWSCRTHTTPClient

from antiphon.client.transport import ConnectionClosedError


class SdkStreams:
    """Opens streams of one endpoint, on one connection or on one each."""

    def __init__(self, endpoint: str, *, own_connections: bool) -> None:
        self._endpoint = endpoint
        self._own = own_connections
        self._shared = AWSCRTHTTPClient()

    async def open(self) -> "SdkStream":
        """Open one."""
        config = await AsyncSageMakerRuntimeHTTP2Config.resolve(
            region=os.environ["AWS_REGION"],
            endpoint_uri=os.environ["AWS_ENDPOINT_URL_SAGEMAKER_RUNTIME_HTTP2"],
            transport=AWSCRTHTTPClient() if self._own else self._shared,
        )
        stream = await AsyncSageMakerRuntimeHTTP2Client(config).invoke_endpoint_with_bidirectional_stream(
            InvokeEndpointWithBidirectionalStreamInput(endpoint_name=self._endpoint)
        )
        _, output = await stream.await_output()
        return SdkStream(stream.input_stream, output)


class SdkStream:
    """An `antiphon.client.transport.Transport`."""

    def __init__(self, sender: Any, receiver: Any) -> None:
        self._sender = sender
        self._receiver = receiver

    async def send(self, data: str) -> None:
        """Send a text message."""
        part = RequestPayloadPart(bytes_=data.encode(), data_type="UTF8", completion_state="COMPLETE")
        await self._sender.send(RequestStreamEventPayloadPart(value=part))

    async def receive(self) -> str | bytes:
        """Receive a message."""
        whole = b""
        while (event := await self._receiver.receive()) is not None:
            if not isinstance(event, ResponseStreamEventPayloadPart):
                continue
            whole += event.value.bytes_ or b""
            if event.value.completion_state != "PARTIAL":
                return whole.decode() if event.value.data_type == "UTF8" else whole
        raise ConnectionClosedError(1006)

    async def close(self, code: int = 1000, reason: str = "") -> None:
        """End the input; the process ends right after."""
        del code, reason
        await self._sender.close()
