"""Speech over ``InvokeEndpointWithResponseStream``: one invocation for each unit, one after the other."""

import asyncio
from collections import deque
from collections.abc import Callable
from functools import partial

from antiphon.client.http_speech import HttpSpeech
from antiphon.client.sagemaker.invocation import Invocation, PartStream, TooManyInvocationsError
from antiphon.client.sagemaker.invoke_failures import Answered, BrokenOff, Lost, explain
from antiphon.client.transport import ConnectionClosedError

CLOSE_TIMEOUT_S = 2.0


class InvokeTransport:
    """A `Transport` that is a stock speech session to its client.

    Args:
        invoke: given the body of a request, makes the call and returns its stream; runs in a thread.
        release: gives back what `invoke` uses, which may be under way; called once.
    """

    def __init__(self, invoke: Callable[[bytes], PartStream], release: Callable[[], None]) -> None:
        self._invoke = invoke
        self._release = release
        self._speech = HttpSpeech()
        self._arrived: deque[str | bytes] = deque()
        self._call: Invocation | None = None
        self._over: tuple[int, str] | None = None
        self._closed = False
        self._changed = asyncio.Event()

    async def send(self, data: str) -> None:
        """Take a message; waits while too much waits to be spoken."""
        while self._over is None and not self._speech.reading:
            await self._change()
        if self._over is not None:
            raise ConnectionClosedError(*self._over)
        self._speech.receive(data)
        self._changed.set()

    async def receive(self) -> str | bytes:
        """Wait for the next message."""
        while True:
            if not self._closed and self._arrived:
                return self._arrived.popleft()
            if self._over is not None:
                raise ConnectionClosedError(*self._over)
            await self._advance()

    async def close(self, code: int = 1000, reason: str = "") -> None:
        """End the session and break off what is under way."""
        if self._closed:
            return
        self._closed = True
        self._end(code, reason)
        call = self._call
        if call is not None:
            call.abandon()
        self._release()
        if call is not None:
            await call.ended(CLOSE_TIMEOUT_S)

    async def _advance(self) -> None:
        """Make the next step there is; waits until there is one."""
        if self._call is not None:
            await self._take_part(self._call)
        else:
            await self._begin()
        self._arrived.extend(self._speech.messages())
        if self._speech.closed is not None:
            self._end(self._speech.closed.code, self._speech.closed.reason)
        self._changed.set()

    async def _begin(self) -> None:
        body = self._speech.next_request()
        if body is not None:
            try:
                self._call = Invocation(partial(self._invoke, body))
            except TooManyInvocationsError as error:
                self._speech.fail(str(error))
        elif not self._has_news:
            await self._change()

    @property
    def _has_news(self) -> bool:
        """What a message has caused already, without any request."""
        self._arrived.extend(self._speech.messages())
        return bool(self._arrived) or self._speech.closed is not None

    async def _take_part(self, call: Invocation) -> None:
        try:
            part = await call.next_part()
        except Exception as error:  # noqa: BLE001 - `explain` knows what boto3 raises, and what to do about others
            self._call = None
            self._fail(error)
            return
        if part is not None:
            self._speech.receive_audio(part)
        elif not self._closed:
            self._speech.finish()
        if part is None or not self._speech.speaking:
            call.abandon()
            self._call = None

    def _fail(self, error: Exception) -> None:
        match explain(error):
            case Answered(status, body):
                self._speech.refuse(status, body)
            case BrokenOff(message):
                self._speech.fail(message)
            case Lost(code, message):
                self._end(code, message)

    def _end(self, code: int, reason: str) -> None:
        if self._over is None:
            self._over = (code, reason)
            self._changed.set()

    async def _change(self) -> None:
        self._changed.clear()
        await self._changed.wait()
