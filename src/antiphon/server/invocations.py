"""``POST /invocations``: SageMaker's one door, behind which a header names the route."""

import re

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from antiphon.server.errors import ApiError

ATTRIBUTES_HEADER = "x-amzn-sagemaker-custom-attributes"
DEFAULT_ROUTE = "/v1/audio/speech"
ROUTE = re.compile(r"route=(/[^\s,]+)")
# Only what answers a POST; never itself, so that a request cannot go round in circles.
ROUTES = frozenset({"/v1/audio/speech"})


class Invocations:
    """Hands a request on to the route that its custom attributes name (``route=/v1/audio/speech``)."""

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
        if path in ROUTES:
            return None
        message = f"No route {path}; the header {ATTRIBUTES_HEADER} may name: {', '.join(sorted(ROUTES))}"
        return ApiError(404, message).response()

    def _route(self, request: Request) -> str:
        named = ROUTE.search(request.headers.get(ATTRIBUTES_HEADER, ""))
        return named.group(1) if named else DEFAULT_ROUTE
