"""``POST /v1/audio/speech``: one text, answered whole or as a raw stream."""

import asyncio
from collections.abc import AsyncIterator

from pydantic import ValidationError
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse

from antiphon.audio.files import FORMATS, encode
from antiphon.audio.pcm import BYTES_PER_SAMPLE, PcmChunk
from antiphon.audio.wavfile import wav_header
from antiphon.engines.contract import EngineInfo, InvalidRequestError, SpeechUnit
from antiphon.protocol.speech_body import SpeechRequest
from antiphon.scheduling import CapacityError, speak
from antiphon.server.errors import ApiError
from antiphon.server.speaker import Speaker
from antiphon.server.units import MAX_FILE_S, FileTooLongError

STREAMABLE = frozenset({"pcm", "wav"})
RETRY_AFTER = {"Retry-After": "1"}


async def create_speech(request: Request) -> Response:
    """Speak the body's text."""
    speaker: Speaker = request.app.state.server.speaker
    body = await _body(request)
    unit = _unit(body, speaker)
    chunks = speak(speaker.scheduler.listener(request.app.state.server.settings.listening_pace), unit)
    # The first chunk decides the status: nothing is promised before the engine has begun.
    first = await _first(request, chunks)
    sample_rate = speaker.engine.info.sample_rate
    media_type = FORMATS[body.response_format].media_type
    if body.stream_format == "audio":
        header = wav_header(sample_rate) if body.response_format == "wav" else b""
        return StreamingResponse(_stream(header, first, chunks), media_type=media_type)
    pcm = await _whole(request, first, chunks, sample_rate)
    return Response(await asyncio.to_thread(encode, pcm, sample_rate, body.response_format), media_type=media_type)


async def _body(request: Request) -> SpeechRequest:
    content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if content_type != "application/json":
        raise ApiError(400, "Unsupported Media Type: Only 'application/json' is allowed")
    try:
        body = SpeechRequest.model_validate_json(await _read(request))
    except ValidationError as error:
        raise ApiError(400, _summary(error), kind="Bad Request") from None
    _check_streaming(body)
    return body


async def _read(request: Request) -> bytes:
    most = request.app.state.server.settings.max_body_bytes
    data = bytearray()
    async for part in request.stream():
        data += part
        if len(data) > most:
            raise ApiError(413, f"The request body is larger than {most} bytes")
    return bytes(data)


def _summary(error: ValidationError) -> str:
    problems = error.errors(include_url=False, include_input=False, include_context=False)
    lines = [f"  {'.'.join(str(part) for part in problem['loc'])}: {problem['msg']}" for problem in problems]
    return "\n".join([f"{len(problems)} validation error{'s' if len(problems) > 1 else ''}:", *lines])


def _check_streaming(body: SpeechRequest) -> None:
    if body.stream_format == "sse" or (body.stream and body.stream_format is None):
        raise ApiError(400, "Server-sent events are not supported; set stream_format='audio' for a raw stream")
    if body.stream_format is None:
        return
    if body.response_format not in STREAMABLE:
        raise ApiError(400, "Streaming needs response_format 'pcm' or 'wav'", param="response_format")
    if body.speed not in (None, 1.0):
        raise ApiError(
            400,
            "Streaming is not supported with speed adjustment. Use a non-streaming request or remove the speed parameter.",
        )


def _unit(body: SpeechRequest, speaker: Speaker) -> SpeechUnit:
    if body.model and body.model != speaker.model:
        raise ApiError(404, f"The model `{body.model}` does not exist.", param="model")
    unit = SpeechUnit(
        text=body.input,
        voice=_voice(body.voice, speaker.engine.info),
        language=body.language,
        speed=1.0 if body.speed is None else body.speed,
        seed=body.seed,
        task_type=body.task_type,
        instructions=body.instructions,
        max_new_tokens=body.max_new_tokens,
    )
    try:
        speaker.engine.check(unit)
    except InvalidRequestError as error:
        raise ApiError(400, str(error)) from None
    return unit


def _voice(name: str | None, info: EngineInfo) -> str | None:
    """``default`` stands for the model's own voice, unless a voice has that name."""
    known = {voice.name for voice in info.voices}
    return None if name is not None and name.lower() == "default" and "default" not in known else name


async def _first(request: Request, chunks: AsyncIterator[PcmChunk]) -> PcmChunk | None:
    try:
        return await _unless_disconnected(request, chunks)
    except CapacityError as error:
        raise ApiError(503, str(error), headers=RETRY_AFTER) from None
    except InvalidRequestError as error:
        raise ApiError(400, str(error)) from None


async def _unless_disconnected(request: Request, chunks: AsyncIterator[PcmChunk]) -> PcmChunk | None:
    """Return the next chunk; a client that goes away stops the synthesis instead."""
    chunk = asyncio.ensure_future(anext(chunks, None))
    gone = asyncio.ensure_future(_disconnect(request))
    try:
        await asyncio.wait({chunk, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not chunk.done():
            raise ClientDisconnect
        return chunk.result()
    finally:
        for task in (chunk, gone):
            task.cancel()
        await asyncio.wait({chunk, gone})


async def _disconnect(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _stream(header: bytes, first: PcmChunk | None, rest: AsyncIterator[PcmChunk]) -> AsyncIterator[bytes]:
    if header:
        yield header
    if first is not None:
        yield first.data
    async for chunk in rest:
        yield chunk.data


async def _whole(request: Request, first: PcmChunk | None, rest: AsyncIterator[PcmChunk], sample_rate: int) -> bytes:
    pcm = bytearray()
    chunk = first
    while chunk is not None:
        pcm += chunk.data
        if len(pcm) > MAX_FILE_S * sample_rate * BYTES_PER_SAMPLE:
            raise ApiError(400, str(FileTooLongError()))
        chunk = await _unless_disconnected(request, rest)
    return bytes(pcm)
