"""One call of the AWS SDK: its idea of an HTTP client, over a connection that others use too."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Self

from awscrt import http
from smithy_http import Field, Fields

from antiphon.client.sagemaker.exchange import Exchange, Head, StreamLostError
from antiphon.client.sagemaker.failures import RefusedError
from antiphon.client.sagemaker.http2 import Connection

MAX_ERROR_BYTES = 2**16
"""Of the body of an error."""

_FIRST_ERROR_STATUS = 300


@dataclass(frozen=True, slots=True)
class Response:
    """A response, as the SDK's protocols take it: ``smithy_http.aio.interfaces.HTTPResponse``."""

    status: int
    fields: Any
    body: Exchange
    reason: None = None


class Call:
    """The transport of one call: ``smithy_http.aio.interfaces.HTTPClient``.

    Args:
        connection: to make the call on.
    """

    SUPPORTS_DUPLEX_STREAMING = True
    TIMEOUT_EXCEPTIONS = ()

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._exchange: Exchange | None = None
        self._body: Any = None
        self._pump: asyncio.Task[None] | None = None
        self._abandoned: str | None = None
        self.failure: Exception | None = None
        """Why there is no response."""

    def __deepcopy__(self, memo: object) -> Self:
        """Stay one: the SDK copies its configuration, before 0.10 for every call."""
        return self

    async def send(self, request: Any, *, request_config: object = None) -> Response:  # noqa: ARG002 - the SDK's
        """Send the request and, in the background, its body; return when the response begins."""
        try:
            head = await self._send(request)
        except Exception as error:
            self.failure = error
            raise
        exchange = self._exchange
        if exchange is None:
            raise StreamLostError("the stream was never begun")
        fields = Fields([Field(name=name, values=[value]) for name, value in head.headers])
        return Response(head.status, fields, exchange)

    async def _send(self, request: Any) -> Head:
        if self._abandoned is not None:
            raise StreamLostError(self._abandoned)
        exchange = self._exchange = Exchange(self._connection, _crt_request(request))
        self._body = request.body
        self._pump = asyncio.create_task(_pump(exchange, request.body), name="antiphon-sagemaker-pump")
        head = await exchange.head()
        if head.status >= _FIRST_ERROR_STATUS:
            # CRT before 0.29 does not tell that a response has ended before the request has.
            await request.body.close(flush=False)
            raise RefusedError(head.status, dict(head.headers), await _what_arrives(exchange))
        return head

    async def complete(self) -> None:
        """Wait until both sides have ended."""
        if self._exchange is not None:
            await self._exchange.complete.wait()

    async def abandon(self, why: str) -> bool:
        """Let who waits for it hear `why`, end the request, and leave no task behind.

        Returns:
            Whether the server has ended it too; also if nothing was ever sent.
        """
        self._abandoned = why
        if self._pump is not None:
            self._pump.cancel()
            await asyncio.wait({self._pump})
            with suppress(Exception):  # of the SDK; its writes fail from now on, or did before
                await self._body.close(flush=False)
        if self._exchange is None:
            return True
        self._exchange.abandon(why)
        return self._exchange.complete.is_set()


async def _what_arrives(exchange: Exchange) -> bytes:
    try:
        return await exchange.read(MAX_ERROR_BYTES)
    except StreamLostError:
        return b""


def _crt_request(request: Any) -> http.HttpRequest:
    headers = [(field.name, value) for field in request.fields for value in field.values]
    names = {name.lower() for name, _ in headers}
    destination = request.destination
    defaults = {"host": destination.netloc, "accept": "*/*"}
    headers += [(name, value) for name, value in defaults.items() if name not in names]
    query = f"?{destination.query}" if destination.query is not None else ""
    return http.HttpRequest(request.method, f"{destination.path or '/'}{query}", http.HttpHeaders(headers))


async def _pump(exchange: Exchange, body: Any) -> None:
    """Send what the SDK writes. When nothing more can be sent, its writes fail instead of waiting for ever."""
    try:
        async for data in body:
            await exchange.write(bytes(data))
        await exchange.end_request()
    except StreamLostError:
        await body.close(flush=False)
