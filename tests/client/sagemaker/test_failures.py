import time

import pytest

from antiphon.client.sagemaker import failures
from antiphon.client.sagemaker.failures import RefusedError


class ModelStreamError(Exception):
    def __init__(self, message: object, error_code: object) -> None:
        super().__init__(message)
        self.message = message
        self.error_code = error_code


@pytest.mark.parametrize(
    ("message", "error_code", "code", "reason"),
    [
        ("WebSocket closed by the container: code=1000, reason=", "StreamBroken", 1000, ""),
        ("WebSocket closed by the container: code=1008, reason=policy: no", "StreamBroken", 1008, "policy: no"),
        ("Close frame received with code 1011 and reason 'out of memory'.", "ModelError", 1011, "out of memory"),
        ('{"code": 4000, "reason": "busy"}', None, 4000, "busy"),
        ("Status code: 1001 (going away)", "", 1001, "Status code: 1001 (going away)"),
        ("the model closed the connection (1012)", "", 1012, "the model closed the connection (1012)"),
        ("bye", "1001", 1001, "bye"),
        ("bye", "WS_CLOSE_1001", 1001, "bye"),
        ("after 1800 s: code=1001", "", 1001, "after 1800 s: code=1001"),
        ("ModelInvocationTimeExceeded", "ModelInvocationTimeExceeded", 1011, "ModelInvocationTimeExceeded"),
        ("no number", "", 1011, "no number"),
        (None, None, 1011, "the container ended the stream"),
        ("", 1003, 1003, ""),
    ],
)
def test_the_code_and_the_reason_are_found_however_it_is_worded(
    message: object, error_code: object, code: int, reason: str
) -> None:
    closed = failures.ending(ModelStreamError(message, error_code))

    assert closed.code == code
    assert reason in closed.reason


def test_what_a_container_says_is_cut_short_and_printable() -> None:
    closed = failures.ending(ModelStreamError("code=1011, reason=\x1b[31m" + "x" * 10_000, ""))

    assert len(closed.reason) < 600
    assert closed.reason.isprintable()


@pytest.mark.parametrize("hostile", ["reason" * 5000, "code" + " " * 50_000, "reason=" + "' " * 20_000, "1" * 50_000])
def test_a_hostile_message_is_read_at_once(hostile: str) -> None:
    began = time.perf_counter()
    failures.ending(ModelStreamError(hostile, hostile))

    assert time.perf_counter() - began < 1


class SerializationError(Exception):
    pass


@pytest.mark.parametrize(("error", "code"), [(SerializationError(), 1003), (ValueError("bad"), 1002)])
def test_what_cannot_be_read_ends_the_stream(error: Exception, code: int) -> None:
    closed = failures.ending(error)

    assert closed.code == code
    assert "bad" not in closed.reason


def test_nothing_is_said_twice_and_there_is_a_next_step() -> None:
    body = b'{"Message": "It failed: the container answered 403.", "OriginalStatusCode": 403}'
    said = str(failures.refused("here", "voice", RefusedError(424, {"x-amzn-errortype": "ModelError"}, body)))

    assert said.startswith("here answered HTTP 424 ModelError: It failed: the container answered 403; see its log: ")
    assert "/Endpoints/voice in CloudWatch" in said
    unknown = RefusedError(400, {"x-amzn-errortype": "InputValidationError"}, b'{"Message": "Endpoint x not found."}')
    assert "not found; check the endpoint's name, the region" in str(failures.refused("here", "x", unknown))


@pytest.mark.parametrize("body", [b"", b"[]", b"\xff", b'{"Message": {"a": 1}}', b'{"Message": null}'])
def test_a_body_may_be_anything(body: bytes) -> None:
    error = failures.refused("here", "voice", RefusedError(418, {"x-amzn-errortype": "a b c"}, body))

    assert str(error) == "here answered HTTP 418"
    assert not error.retryable


@pytest.mark.parametrize(
    ("name", "said", "retryable"),
    [
        ("AWS_IO_DNS_INVALID_NAME", "is the region right?", True),
        ("AWS_IO_SOCKET_CONNECTION_REFUSED", "connection refused", True),
        ("AWS_IO_TLS_ERROR_NEGOTIATION_FAILURE", "AWS_CA_BUNDLE", False),
        ("AWS_ERROR_HTTP_UNSUPPORTED_PROTOCOL", "no HTTP/2", False),
        ("AWS_ERROR_OF_TOMORROW", "AWS_ERROR_OF_TOMORROW", True),
    ],
)
def test_why_no_connection_was_made(name: str, said: str, retryable: bool) -> None:
    error = failures.unreachable("here", name)

    assert said in str(error)
    assert error.retryable is retryable
