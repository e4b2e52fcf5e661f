"""What went wrong between the client and an endpoint, in the client's own terms."""

import json
import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from antiphon.client.errors import ConnectError
from antiphon.client.transport import ConnectionClosedError

# Close codes (RFC 6455 §7.4.1).
NORMAL = 1000
PROTOCOL_ERROR = 1002
UNSUPPORTED = 1003
ABNORMAL = 1006
SERVER_FAULT = 1011

_MAX_REASON = 500

_ADVICE = {
    "AccessDeniedException": "these credentials may not call it: allow sagemaker:InvokeEndpointWithBidirectionalStream",
    "ExpiredTokenException": "the credentials have expired: run `aws sso login`, or renew them",
    "InvalidSignatureException": "the signature is wrong: check the secret key, the region and this machine's clock",
    "MissingAuthenticationTokenException": "the request was not signed",
    "SignatureDoesNotMatch": "the signature is wrong: check the secret key, the region and this machine's clock",
    "UnrecognizedClientException": "the access key is unknown: check the credentials and the region",
}
_STATUS_ADVICE = {
    HTTPStatus.BAD_REQUEST: "check the endpoint's name, the region, and what else the target says",
    HTTPStatus.FORBIDDEN: _ADVICE["AccessDeniedException"],
    HTTPStatus.FAILED_DEPENDENCY: "see its log: /aws/sagemaker/Endpoints/{endpoint} in CloudWatch, or `antiphon emulate logs`",
    HTTPStatus.TOO_MANY_REQUESTS: "too many requests, try again later",
    HTTPStatus.SERVICE_UNAVAILABLE: "it is not ready or has no room, try again later",
}
# AWS answers so while instances start or connections come in bursts, and with status 400 when it throttles.
_RETRYABLE = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.FAILED_DEPENDENCY, HTTPStatus.TOO_MANY_REQUESTS})
_THROTTLED = re.compile(r"Throttl|TooManyRequests|LimitExceeded", re.IGNORECASE)

_CRT = {
    "AWS_IO_DNS_INVALID_NAME": "there is no such host; is the region right?",
    "AWS_IO_DNS_QUERY_FAILED": "there is no such host; is the region right?",
    "AWS_IO_DNS_NO_ADDRESS_FOR_HOST": "there is no such host; is the region right?",
    "AWS_IO_SOCKET_CONNECTION_REFUSED": "connection refused",
    "AWS_IO_SOCKET_TIMEOUT": "no answer in time",
    "AWS_IO_SOCKET_NO_ROUTE_TO_HOST": "no route to the host",
    "AWS_IO_SOCKET_NETWORK_DOWN": "the network is down",
    "AWS_IO_SOCKET_CLOSED": "the connection was lost",
    "AWS_ERROR_HTTP_CONNECTION_CLOSED": "the connection was lost",
}
_CRT_FINAL = {
    "AWS_ERROR_HTTP_UNSUPPORTED_PROTOCOL": "it speaks no HTTP/2",
    "AWS_IO_TLS_ERROR_NEGOTIATION_FAILURE": "TLS failed: is its certificate trusted (AWS_CA_BUNDLE), and is it HTTP/2?",
    "AWS_IO_TLS_ERROR_ALERT_RECEIVED": "TLS failed: it refused the connection; is it HTTP/2?",
    "AWS_IO_TLS_CTX_ERROR": "the certificates of the authorities cannot be used",
    "AWS_IO_FILE_VALIDATION_FAILURE": "the certificates of the authorities cannot be used",
}


class RefusedError(Exception):
    """The service answered with an error instead of a stream.

    Attributes:
        status: of the HTTP answer.
        headers: of the answer, names in lower case.
        body: of the answer, perhaps cut off.
    """

    def __init__(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        super().__init__(f"HTTP {status}")
        self.status = status
        self.headers = headers
        self.body = body


def refused(where: str, endpoint: str, error: RefusedError) -> ConnectError:
    """Say why the service refused a stream."""
    fields = _fields(error.body)
    name = _error_name(error.headers.get("x-amzn-errortype") or fields.get("__type") or fields.get("code"))
    said = _text(fields.get("Message") or fields.get("message")).rstrip(". ")
    advice = _ADVICE.get(name) or _STATUS_ADVICE.get(HTTPStatus(error.status), "") if _known(error.status) else ""
    original = fields.get("OriginalStatusCode")
    # Our own runtime says it in its message; AWS does not.
    answered = f"the container answered {original}" if original and str(original) not in said else ""
    details = [said, answered, advice.format(endpoint=endpoint)]
    explanation = "; ".join(detail for detail in details if detail)
    retryable = error.status >= 500 or error.status in _RETRYABLE or bool(_THROTTLED.search(name))
    what = " ".join(part for part in (f"HTTP {error.status}", name) if part)
    return ConnectError(f"{where} answered {what}{': ' if explanation else ''}{explanation}", retryable=retryable)


def unreachable(where: str, crt_name: str) -> ConnectError:
    """Say why no connection could be made, by the name of CRT's error."""
    final = _CRT_FINAL.get(crt_name)
    return ConnectError(f"cannot reach {where}: {final or _CRT.get(crt_name, crt_name)}", retryable=final is None)


def broken(where: str, error: Exception) -> ConnectError:
    """Say that a stream broke before it began."""
    if type(error).__name__ == "StreamLostError":
        return ConnectError(f"{where}: {error}", retryable=True)
    return ConnectError(f"{where}: the AWS SDK failed ({type(error).__name__})")


def ending(error: BaseException) -> ConnectionClosedError:
    """Say how a stream ended, from what the SDK raised.

    The service has no close frame. It reports that of the container as a ``ModelStreamError``, whose fields and wording
    are not specified: a code is looked for where one may be, and all that was said is the reason.
    """
    match type(error).__name__:
        case "ModelStreamError":
            return _closed_by_model(_text(getattr(error, "message", "")), _text(getattr(error, "error_code", "")))
        case "InternalStreamFailure":
            said = _text(getattr(error, "message", ""))
            return ConnectionClosedError(SERVER_FAULT, said or "the service failed")
        case "SerializationError":
            return ConnectionClosedError(
                UNSUPPORTED, "the stream has an event that this version of the AWS SDK cannot read"
            )
        case "StreamLostError":
            return ConnectionClosedError(ABNORMAL, str(error))
    return ConnectionClosedError(PROTOCOL_ERROR, f"the stream cannot be read ({type(error).__name__})")


_CODE = r"(?P<code>[1-4]\d{3})"
_ONLY_CODE = re.compile(_CODE)
# As in: code 1000 / code=1000 / closed: 1000 (bye) / status code: 1000 / {"code": 1000}.
_NEAR_WORD = re.compile(rf"(?:code|status|closed?)\W{{0,8}}{_CODE}(?!\d)", re.IGNORECASE)
_ANYWHERE = re.compile(rf"(?<!\d){_CODE}(?!\d)")
_REASON = re.compile(
    r"reason\b[\"']?\s*[:=]?\s*(?P<quote>[\"']?)(?P<reason>.*?)(?P=quote)[\s.)}]*$", re.IGNORECASE | re.DOTALL
)


def _closed_by_model(message: str, error_code: str) -> ConnectionClosedError:
    found = _ONLY_CODE.fullmatch(error_code) or _NEAR_WORD.search(message) or _NEAR_WORD.search(error_code)
    found = found or _ANYWHERE.search(message) or _ANYWHERE.search(error_code)
    if found is None:
        said = " ".join(part for part in (error_code, message) if part)
        return ConnectionClosedError(SERVER_FAULT, said or "the container ended the stream")
    reason = _REASON.search(message)
    return ConnectionClosedError(int(found["code"]), reason["reason"].strip() if reason else message)


def _known(status: int) -> bool:
    return status in HTTPStatus.__members__.values()


def _fields(body: bytes) -> dict[str, Any]:
    try:
        fields = json.loads(body)
    except ValueError:
        return {}
    return fields if isinstance(fields, dict) else {}


def _error_name(value: object) -> str:
    # Both "ModelError:http://internal.amazon.com/…" and "com.amazonaws.…#ModelError" are seen.
    name = _text(value).split(":", maxsplit=1)[0].rsplit("#", maxsplit=1)[-1]
    return name if re.fullmatch(r"\w{1,100}", name) else ""


def _text(value: object) -> str:
    if not isinstance(value, str | int):
        return ""
    text = "".join(character if character.isprintable() else " " for character in str(value))
    return text if len(text) <= _MAX_REASON else f"{text[:_MAX_REASON]}…"
