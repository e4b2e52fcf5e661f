"""What happens to an exception that nobody expected: it is logged without its words, and the server lives on."""

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from antiphon.server.errors import ApiError
from antiphon.server.logs import log


class FaultBarrier:
    """Answers 500 for a fault of ours, and nothing to a client that went away; a pure ASGI middleware."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and no exception back."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        begun = False

        async def watched(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self._app(scope, receive, watched)
        except ClientDisconnect:
            return
        except Exception:  # noqa: BLE001 - the outermost barrier
            log.exception("request.crashed", route=scope["type"])
            # A response that has begun is broken off, so that nobody takes it for whole.
            if not begun:
                await ApiError(500, "internal error").response()(scope, receive, send)
