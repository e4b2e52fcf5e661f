"""The optional bearer key."""

import hmac

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

# A load balancer has no key.
OPEN_PATHS = frozenset({"/ping", "/health"})


class BearerKey:
    """Refuses HTTP requests and WebSocket handshakes that do not carry the key; a pure ASGI middleware."""

    def __init__(self, app: ASGIApp, key: str) -> None:
        self._app = app
        self._key = key.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer 401 as vLLM does."""
        if scope["type"] == "lifespan" or scope["path"] in OPEN_PATHS or self._admits(scope):
            await self._app(scope, receive, send)
            return
        refusal = JSONResponse({"error": "Unauthorized"}, 401, {"WWW-Authenticate": "Bearer"})
        await refusal(scope, receive, send)

    def _admits(self, scope: Scope) -> bool:
        given: list[bytes] = [value for name, value in scope["headers"] if name == b"authorization"]
        if len(given) != 1:  # of two, who comes before us may have looked at the other
            return False
        scheme, _, key = given[0].partition(b" ")
        return scheme.lower() == b"bearer" and hmac.compare_digest(key.strip(), self._key)
