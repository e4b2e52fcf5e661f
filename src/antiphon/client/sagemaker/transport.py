"""The SageMaker transport: ``InvokeEndpointWithBidirectionalStream``, as a connection like any other."""

import asyncio
from collections import deque
from contextlib import suppress

from antiphon.client.sagemaker import failures
from antiphon.client.sagemaker.clients import Lease
from antiphon.client.sagemaker.parts import Reassembler
from antiphon.client.sagemaker.sdk import SdkStream
from antiphon.client.transport import ConnectionClosedError

MAX_QUEUED_BYTES = 2**20
"""That wait to be received, beyond which nothing more is read; one message may exceed it."""

CLOSE_TIMEOUT_S = 2.0
"""For the server to end the stream, once it is told to."""

_WHY_TIMEOUT_S = 1.0

# The service has no close frame, and does not say what it does when the input ends: the server is told in its own words.
_FAREWELL = '{"type":"session.close"}'


class SageMakerTransport:
    """A `Transport` over an open stream.

    Args:
        stream: open, and from now on owned by this.
        lease: of the connection that the stream is on; released with it.
    """

    def __init__(self, stream: SdkStream, lease: Lease) -> None:
        self._stream = stream
        self._lease = lease
        self._parts = Reassembler()
        self._messages: deque[str | bytes] = deque()
        self._queued = 0
        self._ending: ConnectionClosedError | None = None
        self._over = asyncio.Event()
        self._arrived = asyncio.Event()
        self._taken = asyncio.Event()
        self._turn = asyncio.Lock()
        self._sending: asyncio.Task[None] | None = None
        self._closing: asyncio.Task[None] | None = None
        # Never cancelled: the SDK's stream is of no use after that.
        self._reader = asyncio.create_task(self._read(), name="antiphon-sagemaker-reader")

    async def send(self, data: str) -> None:
        """Send a text message. Any number of tasks may; each message is whole, in the order of the calls.

        Cancelled before its turn, nothing is sent; after that, everything: events are signed in a chain.
        """
        async with self._turn:
            await self._settle()
            if self._ending is not None:
                raise self._ending
            # Mostly done before it waits for anything; a turn of the loop for each token would add up.
            loop = asyncio.get_running_loop()
            self._sending = sending = asyncio.Task(self._stream.send(data), loop=loop, eager_start=True)
            if not sending.done():
                await asyncio.wait({sending})
            if sending.exception() is not None:
                raise await self._why()

    async def _settle(self) -> None:
        """Wait for what a cancelled `send` left unfinished."""
        sending = self._sending
        if sending is not None and not sending.done():
            await asyncio.wait({sending})
        if sending is not None:
            sending.exception()

    async def _why(self) -> ConnectionClosedError:
        # Who sends may notice first; who reads knows more.
        with suppress(TimeoutError):
            await asyncio.wait_for(self._over.wait(), _WHY_TIMEOUT_S)
        return self._ending or ConnectionClosedError(failures.ABNORMAL, "the stream takes nothing more")

    async def receive(self) -> str | bytes:
        """Wait for the next message. May be cancelled."""
        while not self._messages:
            if self._ending is not None:
                raise self._ending
            self._arrived.clear()
            await self._arrived.wait()
        message = self._messages.popleft()
        self._queued -= len(message)
        self._taken.set()
        return message

    async def close(self, code: int = 1000, reason: str = "") -> None:
        """End the stream; waits for the server to end it too, for at most two seconds.

        The code and the reason are what `receive` raises here; the service has nothing to send them with.
        """
        if self._closing is None:
            over = self._ending is not None
            self._end(ConnectionClosedError(code, reason))
            self._messages.clear()
            self._taken.set()
            self._closing = asyncio.create_task(self._close(over=over), name="antiphon-sagemaker-close")
        await asyncio.shield(self._closing)

    async def _close(self, *, over: bool) -> None:
        with suppress(Exception):  # of the SDK, or that it takes too long; the stream is over either way
            async with asyncio.timeout(CLOSE_TIMEOUT_S):
                await self._settle()
                if not over:
                    await self._stream.send(_FAREWELL)
                await self._stream.end_input()
        ended = await self._stream.abandon()
        await self._settle()
        await asyncio.wait({self._reader})
        await self._lease.release(retire=not ended)

    async def _read(self) -> None:
        try:
            await self._read_until_end()
        except ConnectionClosedError as closed:
            self._end(closed)
        except Exception as error:  # noqa: BLE001 - whatever the SDK raises, it is how the stream ended
            self._end(failures.ending(error))

    async def _read_until_end(self) -> None:
        while (part := await self._stream.receive()) is not None:
            if self._closing is not None:
                continue  # nobody listens
            message = self._parts.add(part)
            if message is not None:
                await self._deliver(message)
        raise ConnectionClosedError(failures.ABNORMAL, "the stream ended without a close")

    async def _deliver(self, message: str | bytes) -> None:
        self._messages.append(message)
        self._queued += len(message)
        self._arrived.set()
        # More may have come with it, and to decode that takes longer than whoever waits for this one should wait.
        await asyncio.sleep(0)
        while self._queued > MAX_QUEUED_BYTES and self._closing is None:
            self._taken.clear()
            await self._taken.wait()

    def _end(self, ending: ConnectionClosedError) -> None:
        if self._ending is None:
            self._ending = ending
        self._over.set()
        self._arrived.set()
