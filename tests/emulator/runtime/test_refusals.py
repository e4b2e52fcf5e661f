"""Bidirectional streams that are not opened, and what their clients are told."""

import json
from uuid import UUID

import pytest
from tests.emulator.runtime.driving import Certificate, Rig, eventually, rig

from antiphon.emulator.runtime import routes
from antiphon.emulator.runtime.sidecar import Sidecar
from antiphon.emulator.runtime.timings import Timings

pytestmark = pytest.mark.anyio


async def refused(rig: Rig, stream: int, status: int, name: str) -> str:
    """A stream that was never opened: an error, whole, then RST_STREAM(NO_ERROR). Gives its message."""
    response = await rig.client.ended(stream)
    await rig.client.until(lambda: response.reset is not None)
    assert response.status == status
    assert response.headers["x-amzn-errortype"] == name
    assert UUID(response.headers["x-amzn-requestid"]).version == 4
    assert (response.ended, response.reset) == (True, 0)
    return str(json.loads(response.body)["Message"])


@pytest.mark.parametrize("status", [403, 404, 500])
async def test_a_container_that_refuses_is_a_model_error(certificate: Certificate, status: int) -> None:
    async with rig(certificate) as it:
        it.container.refuse_with = status
        stream = it.client.open()
        message = await refused(it, stream, 424, "ModelError")
        body = json.loads(it.client.responses[stream].body)
        assert message.startswith("Failed to establish WebSocket connection")
        assert body["OriginalStatusCode"] == status
        assert it.log.all("response") == [{"connection": 1, "stream": 1, "status": 424, "error": "ModelError"}]


async def test_a_container_that_is_not_there_is_a_model_error(certificate: Certificate) -> None:
    async with rig(certificate) as it:
        stream = it.client.open("nowhere")
        assert "nothing listens at http://127.0.0.1:" in await refused(it, stream, 424, "ModelError")


async def test_a_container_with_a_name_that_cannot_be_is_a_model_error(certificate: Certificate) -> None:
    async with rig(certificate) as it:
        stream = it.client.open("nameless")
        assert "UnicodeError" in await refused(it, stream, 424, "ModelError")


async def test_whatever_goes_wrong_the_client_does_not_wait(
    certificate: Certificate, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(_: Sidecar) -> None:
        raise ZeroDivisionError

    async with rig(certificate) as it:
        monkeypatch.setattr(Sidecar, "open", broken)
        assert "ZeroDivisionError" in await refused(it, it.client.open(), 500, "InternalServerError")


async def test_a_container_that_does_not_answer_the_handshake_is_a_model_error(certificate: Certificate) -> None:
    async with rig(certificate, Timings(handshake_timeout_s=0.1)) as it:
        it.container.silent = True
        stream = it.client.open()
        assert "TimeoutError" in await refused(it, stream, 424, "ModelError")
        await eventually(lambda: not it.container.open)


@pytest.mark.parametrize(
    ("endpoint", "extra", "message"),
    [
        ("unknown", {}, "Endpoint unknown not found."),
        ("cold", {}, "Endpoint cold is not in service."),
        ("ep", {"target_variant": "Blue"}, "Endpoint ep has no variant Blue."),
        ("ep", {"model_invocation_path": "/v1"}, "invocation_path"),
        ("ep", {"model_query_string": "a="}, "query_string"),
    ],
)
async def test_what_cannot_be_asked_for_is_an_input_validation_error(
    certificate: Certificate, endpoint: str, extra: dict[str, str], message: str
) -> None:
    async with rig(certificate) as it:
        stream = it.client.open(endpoint, extra)
        assert message in await refused(it, stream, 400, "InputValidationError")
        assert not it.container.open


async def test_streams_are_bounded_on_all_connections_together(
    certificate: Certificate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(routes, "MAX_STREAMS", 2)
    async with rig(certificate) as it:
        await it.stream()
        stream, container = await it.stream()
        await refused(it, it.client.open(), 503, "ServiceUnavailableError")
        container.close(1000)
        await it.client.ended(stream)
        await eventually(lambda: len(it.runtime._sidecars) == 1)
        await it.stream()


async def test_an_error_is_complete_also_when_the_input_is_over(certificate: Certificate) -> None:
    async with rig(certificate) as it:
        response = await it.client.ended(it.client.open("unknown", end=True))
        assert response.status == 400
        assert json.loads(response.body)["ErrorCode"] == "InputValidationError"


async def test_what_is_no_operation_is_not_found(certificate: Certificate) -> None:
    async with rig(certificate) as it:
        await refused(it, it.client.open(path="/ping"), 404, "UnknownOperationException")
        await refused(it, it.client.open(method="PUT"), 404, "UnknownOperationException")
