"""``POST /invocations``: SageMaker's one door, behind which a header names the route."""

import re
from collections.abc import Iterable

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from antiphon.server.errors import ApiError

ATTRIBUTES_HEADER = "x-amzn-sagemaker-custom-attributes"
DEFAULT_ROUTE = "/v1/audio/speech"
ROUTE = re.compile(r"route=(/[^\s,]+)")


class Invocations:
    """Hands a request on to the route that its custom attributes name (``route=/v1/audio/speech``).

    Args:
        routes: that may be named; each answers POST.
    """

    def __init__(self, routes: Iterable[Route]) -> None:
        self._paths = sorted(route.path for route in routes)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Dispatch within the same application."""
        request = Request(scope)
        response = self._refusal(request)
        if response is not None:
            await response(scope, receive, send)
            return
        path = self._route(request)
        await request.app({**scope, "path": path, "raw_path": path.encode()}, receive, send)

    def _refusal(self, request: Request) -> Response | None:
        if request.method != "POST":
            return ApiError(405, "Method Not Allowed", kind="Method Not Allowed", headers={"Allow": "POST"}).response()
        path = self._route(request)
        if path in self._paths:
            return None
        message = f"No route {path}; the header {ATTRIBUTES_HEADER} may name: {', '.join(self._paths)}"
        return ApiError(404, message).response()

    def _route(self, request: Request) -> str:
        named = ROUTE.search(request.headers.get(ATTRIBUTES_HEADER, ""))
        return named.group(1) if named else DEFAULT_ROUTE
