"""Is it alive, and can it speak?"""

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from antiphon.server.state import ServerState


def _trouble(state: ServerState) -> str | None:
    if state.draining:
        return "shutting down"
    if state.speaker.failure is not None:
        return str(state.speaker.failure)
    return None if state.speaker.ready else "loading"


async def ping(request: Request) -> Response:
    """``GET`` or ``POST /ping`` for SageMaker: 200 once a real utterance has been synthesised, 503 before and while draining."""
    return Response(status_code=503 if _trouble(request.app.state.server) else 200)


async def health(request: Request) -> JSONResponse:
    """``GET /health``, in vLLM-Omni's shape."""
    trouble = _trouble(request.app.state.server)
    if trouble is None:
        return JSONResponse({"status": "healthy"})
    return JSONResponse({"status": "unhealthy", "reason": trouble}, 503)
