"""HTTP errors in the shape that vLLM and OpenAI clients read."""

from http import HTTPStatus

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse

RETRY_AFTER = {"Retry-After": "1"}


class ApiError(Exception):
    """An answer other than success.

    Args:
        status: HTTP status code.
        message: for the caller: what is wrong and what to do.
        kind: the field ``type``; default what vLLM-Omni uses with this status.
        param: the request's field at fault.
        headers: to add to the response.
    """

    def __init__(
        self,
        status: int,
        message: str,
        *,
        kind: str | None = None,
        param: str | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind or _KINDS.get(status, HTTPStatus(status).phrase)
        self.param = param
        self.headers = headers

    def response(self) -> JSONResponse:
        """The error as a response."""
        body = {"message": str(self), "type": self.kind, "param": self.param, "code": self.status}
        return JSONResponse({"error": body}, self.status, self.headers)


_KINDS = {400: "BadRequestError", 404: "NotFoundError", 500: "InternalServerError", 503: "ServiceUnavailableError"}


async def on_api_error(_: Request, error: Exception) -> JSONResponse:
    """Answer an `ApiError`."""
    assert isinstance(error, ApiError)  # noqa: S101 - for the type checker: registered for this class only
    return error.response()


async def on_http_exception(_: Request, error: Exception) -> JSONResponse:
    """Answer what starlette raises itself (no such route, wrong method), with vLLM's wording of the type."""
    assert isinstance(error, HTTPException)  # noqa: S101 - for the type checker: registered for this class only
    phrase = HTTPStatus(error.status_code).phrase
    headers = dict(error.headers) if error.headers else None
    return ApiError(error.status_code, error.detail, kind=phrase, headers=headers).response()
