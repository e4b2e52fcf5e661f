import asyncio
import json
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any

import httpx
import pytest
from tests.emulator.runtime.driving import eventually
from tests.emulator.runtime.http_container import CHUNKED, HttpContainer, chunk, http_container, response

from antiphon.emulator.runtime.container import Target, container_client
from antiphon.emulator.runtime.invoke import MAX_BODY_BYTES, Invocation, invocation
from antiphon.emulator.runtime.ports import Field
from antiphon.emulator.runtime.timings import Timings
from antiphon.emulator.wire.errors import AwsError
from antiphon.emulator.wire.eventstream import Decoder, Message
from antiphon.emulator.wire.requests import Invoke, ResponseStream
from antiphon.emulator.wire.sigv4 import SignatureError

pytestmark = pytest.mark.anyio

CALL = Invoke("ep", None, "application/json", "audio/wav", "route=/v1/audio/speech")
STREAM = ResponseStream("ep", None, "application/json", "audio/pcm", "route=/v1/audio/speech")
TIMINGS = Timings()


@dataclass(slots=True)
class FakeStream:
    """What a protocol offers a handler."""

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytearray = field(default_factory=bytearray)
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    credited: int = 0
    notes: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def start(self, status: int, headers: Iterable[tuple[str, str]]) -> None:
        assert not self.status
        self.status, self.headers = status, dict(headers)

    def write(self, data: bytes) -> None:
        assert self.status
        assert not self.ended.is_set()
        self.body += data

    def end(self) -> None:
        assert not self.ended.is_set()
        self.ended.set()

    def credit(self, size: int) -> None:
        self.credited += size

    def note(self, event: str, **fields: Field) -> None:
        self.notes.append((event, fields))

    def error(self) -> tuple[int, str, dict[str, Any]]:
        return self.status, self.headers["x-amzn-errortype"], json.loads(self.body)

    def events(self) -> list[Message]:
        decoder = Decoder()
        messages = list(decoder.feed(bytes(self.body)))
        assert not decoder.pending_bytes
        return messages

    async def done(self) -> None:
        await asyncio.wait_for(self.ended.wait(), 10)


@dataclass(slots=True)
class Rig:
    container: HttpContainer
    stream: FakeStream
    handler: Invocation
    verified: list[str]


@asynccontextmanager
async def rig(call: Invoke, timings: Timings = TIMINGS, refusal: AwsError | None = None) -> AsyncIterator[Rig]:
    verified: list[str] = []

    def admit(digest: str) -> Target:
        verified.append(digest)
        if refusal is not None:
            raise refusal
        return Target(container.url, "ep", "AllTraffic")

    stream = FakeStream()
    async with http_container() as container, container_client() as client:
        handler = invocation(stream, call, admit, client, timings)
        yield Rig(container, stream, handler, verified)


def ask(rig: Rig, body: bytes = b"{}") -> None:
    rig.handler.begin()
    rig.handler.received(body, len(body))
    rig.handler.ended()


async def test_the_container_gets_the_body_and_the_headers_that_are_passed_on() -> None:
    async with rig(CALL) as r:
        r.container.answers(
            response(
                200,
                b"RIFF",
                content_type="audio/wav",
                x_amzn_sagemaker_custom_attributes="took=3",
                x_amzn_sagemaker_new_session_id="s1; Expires=2026-11-30T00:00:00Z",
                x_other="kept",
            )
        )
        r.handler.begin()
        r.handler.received(b'{"input"', 10)
        r.handler.received(b': "Hello"}', 12)
        r.handler.ended()
        await r.stream.done()
        (asked,) = r.container.asked
        assert (asked.method, asked.target, asked.body) == ("POST", "/invocations", b'{"input": "Hello"}')
        expected = CALL.container_headers()
        assert {name: asked.headers[name] for name in expected} == expected
        assert asked.headers["accept-encoding"] == "identity"
        assert r.stream.credited == 22
        assert r.verified == [sha256(asked.body).hexdigest()]
    assert (r.stream.status, bytes(r.stream.body)) == (200, b"RIFF")
    assert r.stream.headers == {
        "content-type": "audio/wav",
        "content-length": "4",
        "x-amzn-invoked-production-variant": "AllTraffic",
        "x-amzn-sagemaker-custom-attributes": "took=3",
        "x-amzn-sagemaker-new-session-id": "s1; Expires=2026-11-30T00:00:00Z",
    }
    assert [event for event, _ in r.stream.notes] == ["response", "stream.closed"]
    closed = r.stream.notes[1][1]
    assert (closed["bytes_in"], closed["bytes_out"]) == (18, 4)


@pytest.mark.parametrize("call", [CALL, STREAM])
@pytest.mark.parametrize(("status", "side"), [(400, "client"), (404, "client"), (500, "server"), (302, "server")])
async def test_a_container_that_refuses_is_a_model_error_with_its_words(call: Invoke, status: int, side: str) -> None:
    async with rig(call) as r:
        r.container.answers(response(status, b"no such voice"))
        ask(r)
        await r.stream.done()
    assert r.stream.error() == (
        424,
        "ModelError",
        {
            "Message": f'Received {side} error ({status}) from primary with message "no such voice".',
            "OriginalStatusCode": status,
            "OriginalMessage": "no such voice",
            "LogStreamArn": "arn:aws:logs:local:000000000000:log-group:/aws/sagemaker/Endpoints/ep"
            ":log-stream:AllTraffic",
            "ErrorCode": "ModelError",
        },
    )
    assert r.stream.notes[0] == ("response", {"status": 424, "error": "ModelError"})
    assert "no such voice" not in str(r.stream.notes)


@pytest.mark.parametrize("call", [CALL, STREAM])
@pytest.mark.parametrize("answer", [b"", b"no HTTP at all\r\n\r\n", b"HTTP/1.1 200 OK\r\ncontent-le"])
async def test_a_container_that_answers_no_http_is_a_model_error(call: Invoke, answer: bytes) -> None:
    async with rig(call) as r:
        r.container.answers(answer)
        ask(r)
        await r.stream.done()
    status, name, body = r.stream.error()
    assert (status, name, body["OriginalStatusCode"]) == (424, "ModelError", 0)


async def test_an_answer_that_breaks_off_is_a_model_error() -> None:
    async with rig(CALL) as r:
        r.container.answers(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf")
        ask(r)
        await r.stream.done()
    assert r.stream.error()[:2] == (424, "ModelError")


async def test_a_container_that_is_not_there_is_a_model_error() -> None:
    stream = FakeStream()
    async with container_client() as client:
        target = Target("http://127.0.0.1:1", "ep", "AllTraffic")
        handler = invocation(stream, CALL, lambda _: target, client, TIMINGS)
        handler.begin()
        handler.ended()
        await stream.done()
    status, name, message = stream.error()
    assert (status, name) == (424, "ModelError")
    assert message["Message"] == "nothing listens at http://127.0.0.1:1"


@pytest.mark.parametrize(
    ("call", "timings"),
    [(CALL, replace(TIMINGS, invoke_timeout_s=0.05)), (STREAM, replace(TIMINGS, response_stream_timeout_s=0.05))],
)
async def test_a_container_that_takes_too_long_is_a_model_error_and_is_let_go(call: Invoke, timings: Timings) -> None:
    async with rig(call, timings) as r:
        r.container.script = r.container.waits
        ask(r)
        await r.stream.done()
        await asyncio.wait_for(r.container.left.wait(), 5)
    status, name, body = r.stream.error()
    assert (status, name) == (424, "ModelError")
    assert "timed out" in body["Message"]


async def test_a_request_that_is_not_signed_never_reaches_the_container() -> None:
    async with rig(CALL, refusal=SignatureError("InvalidSignatureException", "no")) as r:
        ask(r)
        assert r.stream.error() == (403, "InvalidSignatureException", {"Message": "no"})
        assert r.container.asked == []


@pytest.mark.parametrize("more", [0, 1])
async def test_a_body_is_bounded(more: int) -> None:
    async with rig(CALL) as r:
        r.container.answers(response(200, b""))
        r.handler.begin()
        r.handler.received(bytes(MAX_BODY_BYTES), 0)
        if more:
            r.handler.received(b"x", 1)
        else:
            r.handler.ended()
        await r.stream.done()
        assert len(r.handler._body) == 0
    assert r.stream.status == (413 if more else 200)


@pytest.mark.parametrize("more", [0, 1])
async def test_an_answer_that_is_no_stream_is_bounded(more: int) -> None:
    async with rig(CALL) as r:
        r.container.answers(response(200, bytes(MAX_BODY_BYTES + more)))
        ask(r)
        await r.stream.done()
    assert r.stream.status == (424 if more else 200)


async def test_a_body_that_does_not_arrive_is_given_up() -> None:
    async with rig(CALL, replace(TIMINGS, request_timeout_s=0.05)) as r:
        r.handler.begin()
        r.handler.received(b"{", 1)
        await r.stream.done()
    assert r.stream.error()[:2] == (408, "RequestTimeoutException")


async def test_the_patience_with_the_body_ends_with_it() -> None:
    async with rig(CALL, replace(TIMINGS, request_timeout_s=0.02)) as r:

        async def late(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await asyncio.sleep(0.1)
            writer.write(response(200, b"late"))

        r.container.script = late
        ask(r)
        await r.stream.done()
    assert (r.stream.status, bytes(r.stream.body)) == (200, b"late")


async def test_chunks_become_events_as_they_come() -> None:
    release = asyncio.Event()
    async with rig(STREAM) as r:

        async def script(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(CHUNKED + chunk(b"one"))
            await release.wait()
            writer.write(chunk(b"two") + chunk(b""))

        r.container.script = script
        ask(r)
        await eventually(lambda: len(r.stream.body) > 0)
        assert [event.payload for event in r.stream.events()] == [b"one"]
        release.set()
        await r.stream.done()
    assert r.stream.status == 200
    assert r.stream.headers == {
        "content-type": "application/vnd.amazon.eventstream",
        "x-amzn-sagemaker-content-type": "audio/pcm",
        "x-amzn-invoked-production-variant": "AllTraffic",
    }
    assert [event.payload for event in r.stream.events()] == [b"one", b"two"]
    assert r.stream.events()[0].headers[":event-type"] == "PayloadPart"


@pytest.mark.parametrize(
    ("end", "timings", "code"),
    [
        (True, TIMINGS, "StreamBroken"),
        (False, replace(TIMINGS, response_stream_timeout_s=0.3), "ModelInvocationTimeExceeded"),
    ],
)
async def test_a_stream_that_breaks_off_ends_with_a_model_stream_error(end: bool, timings: Timings, code: str) -> None:
    async with rig(STREAM, timings) as r:

        async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(CHUNKED + chunk(b"one"))
            if not end:
                await reader.read()

        r.container.script = script
        ask(r)
        await r.stream.done()
    *parts, last = r.stream.events()
    assert [part.payload for part in parts] == [b"one"]
    assert last.headers[":exception-type"] == "ModelStreamError"
    assert json.loads(last.payload)["ErrorCode"] == code


async def test_a_client_that_takes_nothing_lets_the_container_wait() -> None:
    async with rig(STREAM) as r:
        sent = 0

        async def script(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            nonlocal sent
            writer.write(CHUNKED)
            for _turn in range(512):
                writer.write(chunk(bytes(2**16)))
                await writer.drain()
                sent += 2**16
            writer.write(chunk(b""))

        r.container.script = script
        r.handler.begin()
        r.handler.pause_output()
        r.handler.ended()
        await eventually(lambda: sent > 0)
        before = -1
        while before != sent:
            before = sent
            await asyncio.sleep(0.1)
        assert sent < 512 * 2**16
        assert len(r.stream.body) == 0
        r.handler.resume_output()
        await r.stream.done()
    assert sum(len(event.payload) for event in r.stream.events()) == 512 * 2**16


@pytest.mark.parametrize("call", [CALL, STREAM])
async def test_a_client_that_goes_away_takes_the_container_with_it(call: Invoke) -> None:
    async with rig(call) as r:
        r.container.script = r.container.waits
        ask(r)
        await eventually(lambda: len(r.container.asked) > 0)
        r.handler.lost()
        await asyncio.wait_for(r.container.left.wait(), 5)
        assert r.stream.status == 0
        assert r.stream.notes[-1][0] == "stream.closed"


async def test_a_client_that_goes_away_before_its_body_is_complete_is_forgotten() -> None:
    async with rig(CALL, replace(TIMINGS, request_timeout_s=0.02)) as r:
        r.handler.begin()
        r.handler.lost()
        await asyncio.sleep(0.05)
        assert r.stream.status == 0


async def test_a_runtime_that_stops_says_so() -> None:
    async with rig(CALL) as r:
        r.container.script = r.container.waits
        ask(r)
        await eventually(lambda: len(r.container.asked) > 0)
        r.handler.stop()
        assert r.stream.error()[:2] == (503, "ServiceUnavailable")
        await asyncio.wait_for(r.container.left.wait(), 5)


async def test_a_runtime_that_stops_within_a_stream_says_so_in_it() -> None:
    async with rig(STREAM) as r:

        async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(CHUNKED + chunk(b"one"))
            await reader.read()

        r.container.script = script
        ask(r)
        await eventually(lambda: len(r.stream.body) > 0)
        r.handler.stop()
        assert r.stream.ended.is_set()
    assert [event.headers.get(":exception-type") for event in r.stream.events()] == [None, "InternalStreamFailure"]


async def test_whatever_goes_wrong_in_the_runtime_is_answered() -> None:
    def fail(_: httpx.Request) -> httpx.Response:
        raise LookupError("a secret")

    stream = FakeStream()
    async with httpx.AsyncClient(transport=httpx.MockTransport(fail)) as client:
        target = Target("http://127.0.0.1:1", "ep", "AllTraffic")
        handler = invocation(stream, CALL, lambda _: target, client, TIMINGS)
        handler.begin()
        handler.ended()
        await stream.done()
    assert stream.error() == (500, "InternalFailure", {"Message": "LookupError in the runtime"})
