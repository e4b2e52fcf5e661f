"""What boto3 raises, as what a client can do about it."""

import socket
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    EndpointConnectionError,
    EventStreamError,
    HTTPClientError,
    SSLError,
)
from botocore.exceptions import ConnectionError as NoConnectionError
from urllib3.exceptions import HTTPError

# Close codes (RFC 6455 §7.4.1) that say whether to try again.
ABNORMAL = 1006
POLICY = 1008
TRY_AGAIN_LATER = 1013

# Beside every status of 429 and from 500 on.
_RETRYABLE = frozenset({"ThrottlingException", "Throttling", "ModelNotReadyException", "RequestTimeout"})
_SIGNATURE = "check the secret key, the region and this machine's clock"
_ADVICE = {
    "AccessDeniedException": "allow these credentials sagemaker:InvokeEndpoint and "
    "sagemaker:InvokeEndpointWithResponseStream",
    "ExpiredTokenException": "run `aws sso login`, or renew the credentials",
    "InvalidSignatureException": _SIGNATURE,
    "SignatureDoesNotMatch": _SIGNATURE,
    "UnrecognizedClientException": "the credentials are not known there; check them and the region",
    "ValidationError": "check the endpoint's name, its variant and the region",
}
_MAX_WORDS = 400


@dataclass(frozen=True, slots=True)
class Answered:
    """The container answered the request with an HTTP error: the unit fails, the session goes on.

    Attributes:
        status: the container's.
        body: the container's.
    """

    status: int
    body: str


@dataclass(frozen=True, slots=True)
class BrokenOff:
    """The container began to answer and failed: the unit fails, the session goes on."""

    message: str


@dataclass(frozen=True, slots=True)
class Lost:
    """SageMaker cannot be reached, or refuses: no other unit would fare better.

    Attributes:
        code: a close code that tells whether to try again.
    """

    code: int
    message: str


type Failure = Answered | BrokenOff | Lost


def explain(error: Exception) -> Failure:
    """Tell what an error of a call, or of its stream, means."""
    match error:
        case EventStreamError():
            return BrokenOff(f"SageMaker broke off the audio: {_said(error)}")
        case ClientError():
            return _refused(error)
        case SSLError():
            hint = "if its certificate is not trusted, pass ca_file or set AWS_CA_BUNDLE"
            return Lost(POLICY, f"TLS with SageMaker failed: {_clipped(error)}; {hint}")
        case EndpointConnectionError():
            return Lost(ABNORMAL, f"SageMaker cannot be reached: {_unreachable(error)}")
        case NoConnectionError() | HTTPClientError() | HTTPError() | OSError():
            return Lost(ABNORMAL, f"the connection to SageMaker failed: {_clipped(error)}")
        case BotoCoreError():
            return Lost(POLICY, f"the AWS SDK cannot call SageMaker: {_clipped(error)}")
    return Lost(ABNORMAL, f"the answer of SageMaker cannot be read: {_clipped(error)}")


def _refused(error: ClientError) -> Failure:
    code, status = error.response["Error"].get("Code", ""), _status(error)
    if code == "ModelError":
        original = error.response.get("OriginalStatusCode") or status
        return Answered(original, error.response.get("OriginalMessage") or error.response["Error"].get("Message", ""))
    retryable = code in _RETRYABLE or status == 429 or status >= 500
    advice = f"; {_ADVICE[code]}" if code in _ADVICE else ""
    return Lost(TRY_AGAIN_LATER if retryable else POLICY, f"SageMaker refused: {_said(error)}{advice}")


def _unreachable(error: EndpointConnectionError) -> str:
    """Name the host alone, and what the system said; urllib3's words are of its own objects."""
    url = urlsplit(str(error.kwargs.get("endpoint_url", "")))
    cause: BaseException | None = error.kwargs.get("error")
    while cause is not None and not isinstance(cause, OSError):
        cause = cause.__cause__ or cause.__context__
    reason = cause.strerror.lower() if cause is not None and cause.strerror else "no connection"
    hint = "is the region right?" if isinstance(cause, socket.gaierror) else "does it run, and is the port right?"
    return f"{url.netloc}: {reason}; {hint}"


def _status(error: ClientError) -> int:
    metadata: dict[str, Any] = error.response.get("ResponseMetadata", {})
    return int(metadata.get("HTTPStatusCode", 0))


def _said(error: ClientError) -> str:
    said = error.response["Error"]
    return f"{said.get('Code', 'no code')}: {said.get('Message') or 'no reason given'}".rstrip(".")[:_MAX_WORDS]


def _clipped(error: Exception) -> str:
    return (str(error) or type(error).__name__)[:_MAX_WORDS]
