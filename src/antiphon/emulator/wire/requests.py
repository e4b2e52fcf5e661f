"""The operations of the runtime, and what may stand in their requests.

Paths, headers, lengths and patterns are those of the service models of SageMaker Runtime (2017-05-13) and SageMaker
Runtime HTTP2 (2025-10-01).
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from antiphon.emulator.wire import errors
from antiphon.emulator.wire.errors import AwsError

DEFAULT_PATH = "/invocations-bidirectional-stream"
"""Of the container's WebSocket, when the request names none."""

_PREFIX = "x-amzn-sagemaker-"
_PATH = re.compile(r"/endpoints/([^/]*)/([^/]+)")
_NAME = re.compile(r"[a-zA-Z0-9](-*[a-zA-Z0-9])*")
_PRINTABLE = re.compile(r"[!-~][ -~]*")
_ASCII = re.compile(r"[\x00-\x7f]*")
_VALUE = r"(?:[A-Za-z0-9._~\-]|%[0-9A-Fa-f]{2})+"
_PAIR = rf"[a-zA-Z0-9][A-Za-z0-9_\-]*={_VALUE}"


@dataclass(frozen=True, slots=True)
class Bidirectional:
    """InvokeEndpointWithBidirectionalStream.

    Attributes:
        endpoint: its name.
        target_variant: the production variant that is to answer; None lets the endpoint choose.
        invocation_path: of the container's WebSocket, without the leading slash.
        query_string: of the container's WebSocket, without the question mark.
    """

    endpoint: str
    target_variant: str | None
    invocation_path: str | None
    query_string: str | None

    operation = "InvokeEndpointWithBidirectionalStream"
    invalid = staticmethod(errors.input_validation)
    unavailable = staticmethod(errors.service_unavailable)
    failed = staticmethod(errors.internal_server_error)

    @property
    def container_path(self) -> str:
        """Where to open the container's WebSocket: the path, replaced as a whole, and the query."""
        path = DEFAULT_PATH if self.invocation_path is None else "/" + self.invocation_path
        return path if self.query_string is None else f"{path}?{self.query_string}"


@dataclass(frozen=True, slots=True)
class Invoke:
    """InvokeEndpoint.

    Attributes:
        endpoint: its name.
        target_variant: the production variant that is to answer; None lets the endpoint choose.
        content_type: of the body.
        accept: of the answer.
        custom_attributes: for the container, as they are.
        inference_id: names the request.
        session_id: of the container's session.
        target_model: of a container with several.
    """

    endpoint: str
    target_variant: str | None
    content_type: str | None = None
    accept: str | None = None
    custom_attributes: str | None = field(default=None, repr=False)
    inference_id: str | None = None
    session_id: str | None = None
    target_model: str | None = None

    operation = "InvokeEndpoint"
    invalid = staticmethod(errors.validation)
    unavailable = staticmethod(errors.unavailable)
    failed = staticmethod(errors.internal_failure)

    def container_headers(self) -> dict[str, str]:
        """Give the headers that the container gets; SageMaker strips all others."""
        values = {
            "content-type": self.content_type,
            "accept": self.accept,
            _PREFIX + "custom-attributes": self.custom_attributes,
            _PREFIX + "inference-id": self.inference_id,
            _PREFIX + "session-id": self.session_id,
            _PREFIX + "target-model": self.target_model,
        }
        return {name: value for name, value in values.items() if value is not None}


@dataclass(frozen=True, slots=True)
class ResponseStream(Invoke):
    """InvokeEndpointWithResponseStream."""

    operation = "InvokeEndpointWithResponseStream"


type Call = Bidirectional | Invoke | ResponseStream


@dataclass(frozen=True, slots=True)
class _Rule:
    """What a header may hold; `longest` in characters."""

    member: str
    header: str
    pattern: re.Pattern[str]
    longest: int
    shortest: int = 0


_VARIANT = _Rule("target_variant", _PREFIX + "target-variant", _NAME, 63)
_SHARED = (
    _VARIANT,
    _Rule("content_type", "content-type", _ASCII, 1024),
    _Rule("custom_attributes", _PREFIX + "custom-attributes", _ASCII, 1024),
    _Rule("inference_id", _PREFIX + "inference-id", _PRINTABLE, 64, 1),
)
_BIDIRECTIONAL = (
    _VARIANT,
    _Rule(
        "invocation_path",
        _PREFIX + "model-invocation-path",
        re.compile(r"[A-Za-z0-9\-._]+(?:/[A-Za-z0-9\-._]+)*"),
        100,
    ),
    _Rule("query_string", _PREFIX + "model-query-string", re.compile(rf"{_PAIR}(?:&{_PAIR})*"), 2048),
)
_INVOKE = (
    *_SHARED,
    _Rule("accept", "accept", _ASCII, 1024),
    _Rule("session_id", _PREFIX + "session-id", re.compile(rf"NEW_SESSION|{_NAME.pattern}"), 256),
    _Rule("target_model", _PREFIX + "target-model", _PRINTABLE, 1024, 1),
)
_RESPONSE_STREAM = (
    *_SHARED,
    _Rule("accept", _PREFIX + "accept", _ASCII, 1024),
    _Rule("session_id", _PREFIX + "session-id", _NAME, 256),
)
_ROUTES: dict[str, tuple[type[Bidirectional | Invoke], tuple[_Rule, ...]]] = {
    "invocations-bidirectional-stream": (Bidirectional, _BIDIRECTIONAL),
    "invocations": (Invoke, _INVOKE),
    "invocations-response-stream": (ResponseStream, _RESPONSE_STREAM),
}
_ELSEWHERE = {
    _PREFIX + "inference-component": "inference components",
    _PREFIX + "target-container-hostname": "several containers",
}


def parse(method: str, target: str, headers: Iterable[tuple[str, str]]) -> Call:
    """Find out what a request asks for.

    Args:
        method: of HTTP.
        target: path and query as on the wire; a query is ignored, even an empty one.
        headers: names in any case.

    Raises:
        AwsError: it is no operation there is, or holds what may not be.
    """
    route = _PATH.fullmatch(target.partition("?")[0])
    if method != "POST" or route is None or route[2] not in _ROUTES:
        raise _unknown(method, target)
    shape, rules = _ROUTES[route[2]]
    endpoint = route[1]
    _check(_Rule("endpoint_name", "", _NAME, 63), endpoint, shape.invalid)
    given = _joined(headers)
    for name, what in _ELSEWHERE.items():
        if name in given and shape is not Bidirectional:
            raise shape.invalid(f"{name} is not for this endpoint: it has no {what}")
    members = {rule.member: given.get(rule.header) for rule in rules}
    for rule in rules:
        _check(rule, members[rule.member], shape.invalid)
    return shape(endpoint=endpoint, **members)


def _unknown(method: str, target: str) -> AwsError:
    if method == "POST" and target.partition("?")[0].endswith("/async-invocations"):
        return errors.unknown_operation("InvokeEndpointAsync is not emulated: it needs S3")
    return errors.unknown_operation(
        f"there is no such operation; there is POST /endpoints/NAME/ with one of: {', '.join(_ROUTES)}"
    )


def _joined(headers: Iterable[tuple[str, str]]) -> Mapping[str, str]:
    """One value for each name, as HTTP has it (RFC 9110 §5.3)."""
    joined: dict[str, str] = {}
    for name, value in headers:
        key = name.lower()
        joined[key] = f"{joined[key]}, {value}" if key in joined else value
    return joined


def _check(rule: _Rule, value: str | None, invalid: Callable[[str], AwsError]) -> None:
    if value is None:
        return
    if not rule.shortest <= len(value) <= rule.longest:
        raise invalid(f"{rule.member} has {len(value)} characters; {rule.shortest} to {rule.longest} are possible")
    if rule.pattern.fullmatch(value) is None:
        raise invalid(f"{rule.member} does not match {rule.pattern.pattern}")
