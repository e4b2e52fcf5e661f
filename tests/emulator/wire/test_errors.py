import json

import pytest
from botocore.parsers import create_parser

from antiphon.emulator.wire import errors
from antiphon.emulator.wire.errors import MAX_MESSAGE, AwsError


@pytest.mark.parametrize(
    ("error", "name", "status"),
    [
        (errors.input_validation("m"), "InputValidationError", 400),
        (errors.validation("m"), "ValidationError", 400),
        (errors.model_error("m", 500), "ModelError", 424),
        (errors.internal_server_error("m"), "InternalServerError", 500),
        (errors.internal_failure("m"), "InternalFailure", 500),
        (errors.service_unavailable("m"), "ServiceUnavailableError", 503),
        (errors.unavailable("m"), "ServiceUnavailable", 503),
        (errors.unknown_operation("m"), "UnknownOperationException", 404),
    ],
)
def test_botocore_reads_errors(error: AwsError, name: str, status: int) -> None:
    response = {"headers": dict(error.headers()), "body": error.body(), "status_code": error.status}
    parsed = create_parser("rest-json").parse(response, None)
    assert parsed["Error"] == {"Code": name, "Message": "m"}
    assert error.status == status


def test_a_model_error_says_what_the_container_said() -> None:
    body = json.loads(errors.model_error("m", 500, "original", "arn:aws:logs").body())
    assert body == {
        "Message": "m",
        "OriginalStatusCode": 500,
        "OriginalMessage": "original",
        "LogStreamArn": "arn:aws:logs",
        "ErrorCode": "ModelError",
    }


def test_the_headers_name_the_error_and_the_length() -> None:
    error = errors.validation("Größe")
    assert dict(error.headers()) == {
        "x-amzn-errortype": "ValidationError",
        "content-type": "application/json",
        "content-length": str(len(error.body())),
    }


def test_messages_are_cut_where_the_model_ends_them() -> None:
    body = json.loads(errors.model_error("m" * 5000, 500, "o" * 5000).body())
    assert (len(body["Message"]), len(body["OriginalMessage"])) == (MAX_MESSAGE, MAX_MESSAGE)


def test_bodies_that_are_too_large_or_too_slow_are_refused_by_their_bound() -> None:
    assert (errors.too_large(5).status, errors.too_slow(0.5).status) == (413, 408)
    assert "5 bytes" in str(errors.too_large(5))
    assert "0.5 s" in str(errors.too_slow(0.5))
