"""The optional bearer key."""

import hmac

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

# A load balancer has no key.
OPEN_PATHS = frozenset({"/ping", "/health"})


class BearerKey:
    """Refuses HTTP requests and WebSocket handshakes that do not carry the key; a pure ASGI middleware."""

    def __init__(self, app: ASGIApp, key: str) -> None:
        self._app = app
        self._expected = f"Bearer {key}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer 401 as vLLM does."""
        if scope["type"] == "lifespan" or scope["path"] in OPEN_PATHS or self._admits(scope):
            await self._app(scope, receive, send)
            return
        refusal = JSONResponse({"error": "Unauthorized"}, 401, {"WWW-Authenticate": "Bearer"})
        await refusal(scope, receive, send)

    def _admits(self, scope: Scope) -> bool:
        given = Headers(scope=scope).get("authorization", "")
        return hmac.compare_digest(given.encode("utf-8", "replace"), self._expected)
