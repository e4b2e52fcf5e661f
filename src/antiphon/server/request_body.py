"""The body of ``POST /v1/audio/speech``: from bytes to a unit that the engine accepts."""

import asyncio

from pydantic import ValidationError
from starlette.requests import Request

from antiphon.engines.contract import EngineInfo, InvalidRequestError, SpeechUnit
from antiphon.protocol.speech_body import SpeechRequest
from antiphon.server.errors import ApiError
from antiphon.server.settings import ServerSettings
from antiphon.server.speaker import Speaker

STREAMABLE = frozenset({"pcm", "wav"})


async def read_speech_request(request: Request, settings: ServerSettings) -> SpeechRequest:
    """Read and validate a request.

    Raises:
        ApiError: it is not JSON, too large, too slow, or asks for something that does not exist here.
        ClientDisconnect: the client went away.
    """
    content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if content_type != "application/json":
        raise ApiError(400, "Unsupported Media Type: Only 'application/json' is allowed")
    try:
        async with asyncio.timeout(settings.config_timeout_s):
            data = await _read(request, settings.max_body_bytes)
    except TimeoutError:
        raise ApiError(408, f"The request body took longer than {settings.config_timeout_s:g} s") from None
    try:
        body = SpeechRequest.model_validate_json(data)
    except ValidationError as error:
        raise ApiError(400, _summary(error), kind="Bad Request") from None
    _check_streaming(body)
    return body


async def _read(request: Request, most_bytes: int) -> bytes:
    data = bytearray()
    async for part in request.stream():
        data += part
        if len(data) > most_bytes:
            raise ApiError(413, f"The request body is larger than {most_bytes} bytes")
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


def unit_of(body: SpeechRequest, speaker: Speaker) -> SpeechUnit:
    """Return the unit that a request asks for.

    Raises:
        ApiError: another model, or nothing that the engine can speak.
    """
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
    if not body.input.strip():
        raise ApiError(400, "Input text cannot be empty")
    return unit


def _voice(name: str | None, info: EngineInfo) -> str | None:
    """``default`` stands for the model's own voice, unless a voice has that name."""
    known = {voice.name for voice in info.voices}
    return None if name is not None and name.lower() == "default" and "default" not in known else name
