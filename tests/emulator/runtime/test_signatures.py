"""Who may open a stream, and what may come on it."""

import json

import pytest
from tests.emulator.runtime.driving import Certificate, Rig, rig
from tests.emulator.runtime.raw_client import part
from tests.emulator.runtime.raw_container import Connection
from tests.emulator.wire.signing import KEYS, Events, Signed, by_sdk
from websockets.frames import Opcode

from antiphon.emulator.wire.eventstream import Message, encode

pytestmark = pytest.mark.anyio

PATH = "/endpoints/{}/invocations-bidirectional-stream"


def send(it: Rig, signed: Signed, query: str = "") -> int:
    """Open a stream with a request as it was signed."""
    stream = it.client.h2.get_next_available_stream_id()
    pseudo = ((":method", "POST"), (":scheme", "https"), (":path", signed.path + query))
    it.client.h2.send_headers(stream, (*pseudo, *signed.headers))
    it.client.flush()
    return stream


async def opened(it: Rig) -> tuple[int, Connection, Events]:
    signed = await by_sdk(PATH.format("ep"))
    stream = send(it, signed, query="?")
    assert (await it.client.answered(stream)).status == 200
    return stream, await it.container.connected(), Events(signed.verify().signature)


def whole(message: Message) -> bytes:
    return encode(message.headers, message.payload)


async def test_what_is_signed_passes(certificate: Certificate) -> None:
    async with rig(certificate, keys=KEYS) as it:
        stream, container, events = await opened(it)
        for text in (b"one", b"two"):
            it.client.send(stream, whole(await events.sign(text)))
            assert (await container.frame()).data == text
        it.client.send(stream, whole(await events.end()))
        assert [event["empty_event"] for event in await it.logged("input.ended")] == [True]


@pytest.mark.parametrize(
    ("headers", "error"),
    [
        ({"authorization": None}, "MissingAuthenticationTokenException"),
        ({"authorization": "AWS4-HMAC-SHA256 nonsense"}, "IncompleteSignatureException"),
        ({"content-type": "text/plain"}, "InvalidSignatureException"),
    ],
)
async def test_a_request_that_is_not_signed_as_it_must_be_opens_nothing(
    certificate: Certificate, headers: dict[str, str | None], error: str
) -> None:
    async with rig(certificate, keys=KEYS) as it:
        signed = await by_sdk(PATH.format("ep"))
        for name, value in headers.items():
            signed = signed.with_header(name, value)
        response = await it.client.ended(send(it, signed))
        await it.client.until(lambda: response.reset is not None)
        assert (response.status, response.headers["x-amzn-errortype"], response.reset) == (403, error, 0)
        assert not it.container.open
        assert it.log.all("response") == [{"connection": 1, "stream": 1, "status": 403, "error": error}]


async def test_who_may_not_ask_does_not_learn_what_there_is(certificate: Certificate) -> None:
    async with rig(certificate, keys=KEYS) as it:
        for stream in (
            it.client.open("unknown"),
            it.client.open(extra={"model_invocation_path": "/"}),
            it.client.open(path="/endpoints/unknown/invocations", end=True),
        ):
            response = await it.client.ended(stream)
            assert response.status == 403


async def test_who_may_ask_learns_what_is_wrong(certificate: Certificate) -> None:
    async with rig(certificate, keys=KEYS) as it:
        signed = await by_sdk(PATH.format("-"))
        response = await it.client.ended(send(it, signed))
        assert (response.status, response.headers["x-amzn-errortype"]) == (400, "InputValidationError")


async def ends_with_a_signature_error(it: Rig, stream: int, container: Connection) -> None:
    response = await it.client.ended(stream)
    last = response.messages[-1]
    assert last.headers[":exception-type"] == "ModelStreamError"
    assert json.loads(last.payload)["ErrorCode"] == "InvalidSignatureException"
    close = await container.frame()
    assert (close.opcode, close.data[:2]) == (Opcode.CLOSE, (1001).to_bytes(2))


async def test_an_event_that_was_changed_ends_the_stream(certificate: Certificate) -> None:
    async with rig(certificate, keys=KEYS) as it:
        stream, container, events = await opened(it)
        signed = await events.sign(b"hello")
        it.client.send(stream, encode(signed.headers, signed.payload.replace(b"UTF8", b"BINA") + b"!"))
        await ends_with_a_signature_error(it, stream, container)


async def test_an_event_out_of_its_place_ends_the_stream(certificate: Certificate) -> None:
    async with rig(certificate, keys=KEYS) as it:
        stream, container, events = await opened(it)
        first, second = await events.sign(b"first"), await events.sign(b"second")
        it.client.send(stream, whole(second) + whole(first))
        await ends_with_a_signature_error(it, stream, container)


async def test_an_event_that_is_not_signed_ends_the_stream(certificate: Certificate) -> None:
    async with rig(certificate, keys=KEYS) as it:
        stream, container, _ = await opened(it)
        it.client.send(stream, part(b"hello"))
        await ends_with_a_signature_error(it, stream, container)


async def test_without_verification_signed_events_pass_whatever_their_signature(certificate: Certificate) -> None:
    async with rig(certificate) as it:
        stream, container = await it.stream()
        signed = await Events("0" * 64).sign(b"hello")
        it.client.send(stream, whole(signed) + part(b"unsigned"))
        assert [(await container.frame()).data for _ in range(2)] == [b"hello", b"unsigned"]
