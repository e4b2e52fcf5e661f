"""Errors as AWS's REST-JSON protocol says them: a status, a header that names them, a JSON body."""

import json

MAX_MESSAGE = 2048
"""Characters (SageMaker runtime's service model, shape ``Message``)."""


class AwsError(Exception):
    """A request is answered with an error.

    Attributes:
        name: the shape's name in the service model, by which SDKs choose the exception.
        status: of HTTP.
        message: for a reader.
        extra: further members of the body.
    """

    def __init__(self, name: str, status: int, message: str, **extra: str | int) -> None:
        super().__init__(message)
        self.name = name
        self.status = status
        self.message = message[:MAX_MESSAGE]
        self.extra = extra

    def headers(self) -> tuple[tuple[str, str], ...]:
        """Give the response's headers."""
        return (
            ("x-amzn-errortype", self.name),
            ("content-type", "application/json"),
            ("content-length", str(len(self.body()))),
        )

    def body(self) -> bytes:
        """Give the response's body."""
        return json.dumps({"Message": self.message, **self.extra}).encode()


def input_validation(message: str) -> AwsError:
    """Refuse a bidirectional stream that asks for what cannot be."""
    return AwsError("InputValidationError", 400, message, ErrorCode="InputValidationError")


def validation(message: str) -> AwsError:
    """Refuse any other request that asks for what cannot be."""
    return AwsError("ValidationError", 400, message)


def model_error(message: str, original_status: int, original_message: str = "", log_stream_arn: str = "") -> AwsError:
    """Tell that the container failed.

    Args:
        message: what happened.
        original_status: of the container's HTTP response; 0 if there was none.
        original_message: the body of that response.
        log_stream_arn: where its log would be.
    """
    return AwsError(
        "ModelError",
        424,
        message,
        OriginalStatusCode=original_status,
        OriginalMessage=original_message[:MAX_MESSAGE],
        LogStreamArn=log_stream_arn,
        ErrorCode="ModelError",
    )


def internal_server_error(message: str) -> AwsError:
    """Tell a bidirectional client that the runtime itself failed."""
    return AwsError("InternalServerError", 500, message, ErrorCode="InternalServerError")


def internal_failure(message: str) -> AwsError:
    """Tell any other client that the runtime itself failed."""
    return AwsError("InternalFailure", 500, message)


def service_unavailable(message: str) -> AwsError:
    """Send a bidirectional client away for now."""
    return AwsError("ServiceUnavailableError", 503, message, ErrorCode="ServiceUnavailableError")


def unavailable(message: str) -> AwsError:
    """Send any other client away for now."""
    return AwsError("ServiceUnavailable", 503, message)


def unknown_operation(message: str) -> AwsError:
    """Refuse a request that is none of the operations there are."""
    return AwsError("UnknownOperationException", 404, message)


def too_large(limit_bytes: int) -> AwsError:
    """Refuse a body above the limit."""
    return AwsError("RequestEntityTooLargeException", 413, f"HTTP content length exceeded {limit_bytes} bytes.")


def too_slow(limit_s: float) -> AwsError:
    """Refuse a body that does not arrive."""
    return AwsError("RequestTimeoutException", 408, f"The request took longer than {limit_s:g} s to arrive.")
