"""The body of ``POST /v1/audio/speech``: from bytes to a unit that the engine accepts."""

import asyncio
from dataclasses import replace

from pydantic import ValidationError
from starlette.requests import Request

from antiphon.engines.contract import EngineInfo, InvalidRequestError, SpeechUnit
from antiphon.protocol.speech_body import SpeechRequest, find_unstreamable
from antiphon.protocol.speech_request import no_such_model
from antiphon.server.errors import ApiError
from antiphon.server.settings import ServerSettings
from antiphon.server.speaker import Speaker
from antiphon.server.units import speech_unit


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
    if refusal := find_unstreamable(body):
        raise ApiError(400, refusal.message, param=refusal.param)
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
    lines = [f"  {'.'.join(map(str, problem['loc'])) or 'body'}: {problem['msg']}" for problem in problems]
    return "\n".join([f"{len(problems)} validation error{'s' if len(problems) > 1 else ''}:", *lines])


def unit_of(body: SpeechRequest, speaker: Speaker) -> SpeechUnit:
    """Return the unit that a request asks for.

    Raises:
        ApiError: another model, or nothing that the engine can speak.
    """
    if body.model and body.model != speaker.model:
        raise ApiError(404, no_such_model(body.model), param="model")
    unit = replace(speech_unit(body.input, body), voice=_voice(body.voice, speaker.engine.info))
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
