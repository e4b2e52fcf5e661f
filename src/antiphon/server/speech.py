"""``POST /v1/audio/speech``: one text, answered whole or as a raw stream."""

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, contextmanager

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Message, Receive, Scope, Send

from antiphon.audio.files import FORMATS
from antiphon.audio.pcm import PcmChunk
from antiphon.audio.wavfile import wav_header
from antiphon.engines.contract import EngineError, InvalidRequestError, SpeechUnit
from antiphon.protocol.speech_body import SpeechRequest
from antiphon.scheduling import CapacityError, Pace, speak
from antiphon.server.admission import not_serving
from antiphon.server.disconnect import unless_disconnected
from antiphon.server.errors import RETRY_AFTER, ApiError
from antiphon.server.request_body import read_speech_request, unit_of
from antiphon.server.state import ServerState
from antiphon.server.units import WholeFile

# Of a whole file, in one message to the socket: about what its buffer holds before it makes the sender wait.
PART_BYTES = 64 * 1024


async def create_speech(request: Request) -> Response:
    """Speak the body's text."""
    state: ServerState = request.app.state.server
    refusal = not_serving(state)
    if refusal is not None:
        raise refusal
    with state.request():
        body = await read_speech_request(request, state.settings)
        unit = unit_of(body, state.speaker)
        answer = _whole if body.stream_format is None else _streamed
        with _as_api_errors():
            return await answer(request, body, unit)


@contextmanager
def _as_api_errors() -> Iterator[None]:
    try:
        yield
    except CapacityError as error:
        raise ApiError(503, str(error), headers=RETRY_AFTER) from None
    except InvalidRequestError as error:
        raise ApiError(400, str(error)) from None
    except EngineError as error:
        raise ApiError(500, str(error)) from None


async def _whole(request: Request, body: SpeechRequest, unit: SpeechUnit) -> Response:
    state: ServerState = request.app.state.server
    listener = state.speaker.scheduler.listener(Pace("asap"))

    async def make() -> bytes:
        file = WholeFile(body.response_format, state.speaker.engine.info.sample_rate)
        async with aclosing(speak(listener, unit)) as chunks:
            async for chunk in chunks:
                file.add(chunk)
        return await file.encode()

    content = await unless_disconnected(request.receive, make())
    return _SpeechResponse(state, b"", _parts(content), body.response_format, length=len(content))


async def _parts(content: bytes) -> AsyncGenerator[bytes]:
    for start in range(0, len(content), PART_BYTES):
        yield content[start : start + PART_BYTES]


async def _streamed(request: Request, body: SpeechRequest, unit: SpeechUnit) -> Response:
    state: ServerState = request.app.state.server
    header = wav_header(state.speaker.engine.info.sample_rate) if body.response_format == "wav" else b""
    audio = _audio(speak(state.speaker.scheduler.listener(state.settings.listening_pace), unit))

    async def begin() -> bytes:
        return await anext(audio, b"")

    # The first chunk decides the status: nothing is promised before the engine has begun.
    first = await unless_disconnected(request.receive, begin())
    return _SpeechResponse(state, header + first, audio, body.response_format)


async def _audio(chunks: AsyncGenerator[PcmChunk]) -> AsyncGenerator[bytes]:
    async with aclosing(chunks):
        async for chunk in chunks:
            yield chunk.data


class _SpeechResponse(StreamingResponse):
    """A response that is under way until all of it was sent; what makes it stops with it, however it ends.

    In parts also when it is there as a whole: the socket takes one part after the other, so that whoever waits for the
    end of the response waits for the client.

    Args:
        state: the server's.
        first: bytes, perhaps none.
        rest: what is still to come.
        file_format: a key of `antiphon.audio.files.FORMATS`.
        length: of all bytes, if it is known.
    """

    def __init__(
        self,
        state: ServerState,
        first: bytes,
        rest: AsyncGenerator[bytes],
        file_format: str,
        length: int | None = None,
    ) -> None:
        headers = None if length is None else {"Content-Length": str(length)}
        super().__init__(self._all(first), headers=headers, media_type=FORMATS[file_format].media_type)
        self._state = state
        self._rest = rest

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - ASGI's signature
        async def send_in_time(message: Message) -> None:
            try:
                async with asyncio.timeout(self._state.settings.send_timeout_s):
                    await send(message)
            except (OSError, TimeoutError):
                raise ClientDisconnect from None

        with self._state.request():
            async with aclosing(self._rest):
                await unless_disconnected(receive, self.stream_response(send_in_time))

    async def _all(self, first: bytes) -> AsyncGenerator[bytes]:
        if first:
            yield first
        async for part in self._rest:
            yield part
