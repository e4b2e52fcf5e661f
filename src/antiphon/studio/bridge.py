"""Between a page and a speech server: a WebSocket on one side, a client like any other on the other.

A browser speaks no HTTP/2 stream of SageMaker's and signs no requests; this side does. One WebSocket carries one
utterance at a time. What a page does not take is not taken from the speech server either.
"""

import asyncio
from contextlib import aclosing, suppress

from starlette.websockets import WebSocket, WebSocketDisconnect

from antiphon.client import SpeechError, SpeechOptions, connect
from antiphon.client.pace import paced
from antiphon.studio.messages import RequestError, Speak, Stop, encode, encode_error, parse

MAX_PAGES = 16
"""Pages connected at once."""

SEND_TIMEOUT_S = 10.0
"""How long a page may take nothing before it counts as gone."""

_UNSUPPORTED_DATA = 1003
_TRY_AGAIN_LATER = 1013


class Bridge:
    """Speaks for pages.

    Args:
        target: who speaks, as `antiphon.connect` takes it.
        max_pages: connected at once.
        send_timeout_s: how long a page may take nothing.
    """

    def __init__(self, target: str, *, max_pages: int = MAX_PAGES, send_timeout_s: float = SEND_TIMEOUT_S) -> None:
        self.target = target
        self.send_timeout_s = send_timeout_s
        self.pages = 0
        self._max_pages = max_pages

    async def serve(self, websocket: WebSocket) -> None:
        """Serve one page, from its handshake until it is gone."""
        with suppress(WebSocketDisconnect):
            await websocket.accept()
            await self._serve(websocket)

    async def _serve(self, websocket: WebSocket) -> None:
        if self.pages >= self._max_pages:
            full = RequestError(f"{self._max_pages} pages are connected, which is all there may be; close another")
            await websocket.send_text(encode_error(full, None))
            await websocket.close(_TRY_AGAIN_LATER)
            return
        self.pages += 1
        try:
            await _Page(self, websocket).run()
        finally:
            self.pages -= 1


class _GoneError(Exception):
    """The page takes nothing any more."""


class _Page:
    """One page: a task that reads, and one that speaks while there is something to say."""

    def __init__(self, bridge: Bridge, websocket: WebSocket) -> None:
        self._bridge = bridge
        self._websocket = websocket
        self._speaking: asyncio.Task[None] | None = None

    async def run(self) -> None:
        """Serve until the page closes, or takes nothing."""
        try:
            async with asyncio.TaskGroup() as tasks:
                await self._read(tasks)
        except* _GoneError:
            pass

    async def _read(self, tasks: asyncio.TaskGroup) -> None:
        try:
            while (message := await self._websocket.receive())["type"] == "websocket.receive":
                text = message.get("text")
                if text is None:
                    await self._hush()
                    await self._websocket.close(_UNSUPPORTED_DATA, "a page sends text")
                    return
                await self._take(text, tasks)
        finally:
            await self._hush()

    async def _take(self, text: str, tasks: asyncio.TaskGroup) -> None:
        try:
            request = parse(text)
        except RequestError as error:
            await self._send(encode_error(error, None))
            return
        await self._hush()
        match request:
            case Speak():
                self._speaking = tasks.create_task(self._speak(request), name="antiphon-page-speaker")
            case Stop():
                pass

    async def _hush(self) -> None:
        """End what is being said; nothing of it is sent after this."""
        if self._speaking is not None:
            self._speaking.cancel()
            await asyncio.wait({self._speaking})
            self._speaking = None

    async def _speak(self, request: Speak) -> None:
        pace = request.tokens_per_second
        source = request.text if pace is None else paced(request.text, pace)
        options: SpeechOptions = {"voice": request.voice or None, "language": request.language or None}
        try:
            async with connect(self._bridge.target, **options) as voice, aclosing(voice.say(source)) as events:
                async for event in events:
                    await self._send(encode(event, request.id))
        except SpeechError as error:
            await self._send(encode_error(error, request.id))

    async def _send(self, data: str | bytes) -> None:
        try:
            async with asyncio.timeout(self._bridge.send_timeout_s):
                if isinstance(data, bytes):
                    await self._websocket.send_bytes(data)
                else:
                    await self._websocket.send_text(data)
        except (TimeoutError, WebSocketDisconnect) as error:
            raise _GoneError from error
