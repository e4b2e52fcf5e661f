"""What there is: models and voices."""

import time

from starlette.requests import Request
from starlette.responses import JSONResponse

from antiphon.server.speaker import Speaker

STARTED_AT = int(time.time())


async def list_models(request: Request) -> JSONResponse:
    """``GET /v1/models``, in OpenAI's shape."""
    speaker: Speaker = request.app.state.server.speaker
    model = {"id": speaker.model, "object": "model", "created": STARTED_AT, "owned_by": "antiphon"}
    return JSONResponse({"object": "list", "data": [model]})


async def list_voices(request: Request) -> JSONResponse:
    """``GET /v1/audio/voices``, in vLLM-Omni's shape; ``details`` says which names are aliases or derived."""
    info = request.app.state.server.speaker.engine.info
    names = {voice.name for voice in info.voices} | set(info.aliases) | {"default"}
    details = [
        {
            "name": voice.name,
            "languages": list(voice.languages),
            "description": voice.description,
            "derived_from": voice.derived_from,
            "aliases": sorted(alias for alias, name in info.aliases.items() if name == voice.name),
        }
        for voice in info.voices
    ]
    return JSONResponse({"voices": sorted(names), "uploaded_voices": [], "details": details})
