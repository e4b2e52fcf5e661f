"""InvokeEndpoint and InvokeEndpointWithResponseStream: a request to the container's ``POST /invocations``."""

import asyncio
from collections.abc import Callable
from hashlib import sha256

import httpx

from antiphon.emulator.runtime.container import Headers, Target, failure, given, read_body
from antiphon.emulator.runtime.stream import Stream, refuse
from antiphon.emulator.runtime.timings import Timings
from antiphon.emulator.wire import errors, parts
from antiphon.emulator.wire.errors import AwsError
from antiphon.emulator.wire.requests import Invoke, ResponseStream

MAX_BODY_BYTES = 25 * 2**20
"""Of a request, and of an answer that is no stream (SageMaker quotas, real-time inference)."""

_EVENT_STREAM = "application/vnd.amazon.eventstream"
_PASSED_BACK = tuple(
    f"x-amzn-sagemaker-{name}" for name in ("custom-attributes", "new-session-id", "closed-session-id")
)

Admit = Callable[[str], Target]
"""Verifies a request's signature, given the SHA-256 of its body in hex, and finds who answers; raises `AwsError`."""


def invocation(stream: Stream, call: Invoke, admit: Admit, client: httpx.AsyncClient, timings: Timings) -> "Invocation":
    """Make the handler that answers a call."""
    kind = Streamed if isinstance(call, ResponseStream) else Invocation
    return kind(stream, call, admit, client, timings)


class Invocation:
    """Answers InvokeEndpoint.

    Args:
        stream: the request.
        call: what it asks for.
        admit: called once the body is complete.
        client: for the container's answer.
        timings: see `Timings`.
    """

    def __init__(self, stream: Stream, call: Invoke, admit: Admit, client: httpx.AsyncClient, timings: Timings) -> None:
        self._loop = asyncio.get_running_loop()
        self._stream = stream
        self._call = call
        self._admit = admit
        self._client = client
        self._timings = timings
        self._body = bytearray()
        self._patience: asyncio.TimerHandle | None = None
        self._answering: asyncio.Task[None] | None = None
        self._flows = asyncio.Event()
        self._flows.set()
        self._started = False
        self._began = self._loop.time()
        self._bytes_in = self._bytes_out = self._parts_out = 0

    # From the client

    def begin(self) -> None:
        """Wait for the body, but not for ever."""
        limit = self._timings.request_timeout_s
        self._patience = self._loop.call_later(limit, self._refuse, errors.too_slow(limit))

    def received(self, data: bytes, credit: int) -> None:
        """Keep a piece of the body; it is bounded as a whole."""
        self._bytes_in += len(data)
        if self._bytes_in > MAX_BODY_BYTES:
            self._refuse(errors.too_large(MAX_BODY_BYTES))
            return
        self._body += data
        self._stream.credit(credit)

    def ended(self) -> None:
        """Ask the container, if the request may ask it."""
        self._forget_patience()
        try:
            self._target = self._admit(sha256(self._body).hexdigest())
        except AwsError as error:
            self._refuse(error)
        else:
            self._answering = self._loop.create_task(self._answer())

    def lost(self) -> None:
        """Let the container know by closing its connection."""
        self._finish()

    def pause_output(self) -> None:
        """Let the container wait for the client."""
        self._flows.clear()

    def resume_output(self) -> None:
        """Let the container go on."""
        self._flows.set()

    def stop(self) -> None:
        """End the response: the runtime stops."""
        self._fail(self._call.unavailable("the runtime is stopping"), parts.encode_internal_failure("it stops"))

    # From the container

    @property
    def _limit_s(self) -> float:
        return self._timings.invoke_timeout_s

    async def _answer(self) -> None:
        try:
            async with asyncio.timeout(self._limit_s):
                await self._ask()
        except TimeoutError:
            message = "Your invocation timed out while waiting for a response from container primary."
            self._break(message, "ModelInvocationTimeExceeded")
        except httpx.TransportError as error:
            self._break(failure("the container's answer broke off", error, self._target.url), "StreamBroken")
        except AwsError as error:
            self._refuse(error)
        except Exception as error:  # noqa: BLE001 - whatever went wrong, the client must not wait for ever
            message = f"{type(error).__name__} in the runtime"
            self._fail(self._call.failed(message), parts.encode_internal_failure(message))

    async def _ask(self) -> None:
        content, self._body = bytes(self._body), bytearray()
        headers = self._call.container_headers()
        url = f"{self._target.url}/invocations"
        async with self._client.stream("POST", url, content=content, headers=headers) as response:
            if not response.is_success:
                raise self._refused(response.status_code, await read_body(response, errors.MAX_MESSAGE))
            await self._pass_on(response)
        self._stream.end()
        self._finish()

    async def _pass_on(self, response: httpx.Response) -> None:
        body = await read_body(response, MAX_BODY_BYTES + 1)
        if len(body) > MAX_BODY_BYTES:
            raise self._target.model_error(f"the container's answer is larger than {MAX_BODY_BYTES} bytes")
        content_type = given(response, "content-type")
        self._start(response, [*content_type, ("content-length", str(len(body)))])
        self._write(body, len(body))

    def _start(self, response: httpx.Response, headers: Headers) -> None:
        self._started = True
        passed = [pair for name in _PASSED_BACK for pair in given(response, name)]
        self._stream.start(200, [("x-amzn-invoked-production-variant", self._target.variant), *passed, *headers])
        self._stream.note("response", status=200, error=None)

    def _write(self, data: bytes, size: int) -> None:
        self._bytes_out += size
        self._parts_out += 1
        self._stream.write(data)

    def _refused(self, status: int, body: bytes) -> AwsError:
        original = body.decode(errors="replace")
        side = "client" if 400 <= status < 500 else "server"
        message = f'Received {side} error ({status}) from primary with message "{original}".'
        return self._target.model_error(message, status, original)

    # The end

    def _break(self, message: str, code: str) -> None:
        self._fail(self._target.model_error(message), parts.encode_model_stream_error(message, code))

    def _fail(self, error: AwsError, event: bytes) -> None:
        """Say what went wrong: as an error, or as the last event of a stream that has begun."""
        if not self._started:
            self._refuse(error)
            return
        self._stream.write(event)
        self._stream.end()
        self._finish()

    def _refuse(self, error: AwsError) -> None:
        refuse(self._stream, error)
        self._finish()

    def _finish(self) -> None:
        """Let everything go."""
        self._forget_patience()
        self._body.clear()
        if self._answering is not None and self._answering is not asyncio.current_task():
            self._answering.cancel()
        self._stream.note(
            "stream.closed",
            seconds=round(self._loop.time() - self._began, 3),
            bytes_in=self._bytes_in,
            bytes_out=self._bytes_out,
            parts_in=1,
            parts_out=self._parts_out,
        )

    def _forget_patience(self) -> None:
        if self._patience is not None:
            self._patience.cancel()


class Streamed(Invocation):
    """Answers InvokeEndpointWithResponseStream: what the container sends becomes events as it comes."""

    @property
    def _limit_s(self) -> float:
        return self._timings.response_stream_timeout_s

    async def _pass_on(self, response: httpx.Response) -> None:
        content_type = [("x-amzn-sagemaker-content-type", value) for _, value in given(response, "content-type")]
        self._start(response, [*content_type, ("content-type", _EVENT_STREAM)])
        async for chunk in response.aiter_raw():
            await self._flows.wait()
            self._write(parts.encode_chunk(chunk), len(chunk))
