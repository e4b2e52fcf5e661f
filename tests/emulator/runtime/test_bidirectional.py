"""A bidirectional stream, from opening to end."""

import asyncio
import json
from uuid import UUID

import pytest
from hyperframe.frame import GoAwayFrame
from tests.emulator.runtime.driving import Certificate, eventually, rig
from tests.emulator.runtime.raw_client import Response, part
from websockets.frames import Frame, Opcode

from antiphon.emulator.runtime.timings import Timings
from antiphon.emulator.wire.eventstream import Message, encode

pytestmark = pytest.mark.anyio

END = encode({})
"""What ends the input, beside the end of the request's body: an event of nothing."""


def error_of(response: Response) -> dict[str, str]:
    """The exception event at the end of a stream."""
    last: Message = response.messages[-1]
    assert last.headers[":message-type"] == "exception"
    return {"type": str(last.headers[":exception-type"]), **json.loads(last.payload)}


async def test_the_stream_is_open_before_anything_is_sent(certificate: Certificate) -> None:
    async with rig(certificate) as it:
        stream = it.client.open(
            extra={"model_invocation_path": "v1/audio/speech/stream", "model_query_string": "a=1&b=%20"}
        )
        response = await it.client.answered(stream)
        container = await it.container.connected()
        assert UUID(response.headers.pop("x-amzn-requestid")).version == 4
        assert response.headers == {
            ":status": "200",
            "content-type": "application/vnd.amazon.eventstream",
            "x-amzn-invoked-production-variant": "AllTraffic",
        }
        assert container.request is not None
        assert container.request.path == "/v1/audio/speech/stream?a=1&b=%20"
        assert "Sec-WebSocket-Extensions" not in container.request.headers


async def test_the_default_path_and_the_variant_that_was_asked_for(certificate: Certificate) -> None:
    async with rig(certificate) as it:
        stream = it.client.open(extra={"target_variant": "Canary"})
        response = await it.client.answered(stream)
        container = await it.container.connected()
        assert response.headers["x-amzn-invoked-production-variant"] == "Canary"
        assert container.request is not None
        assert container.request.path == "/invocations-bidirectional-stream"


async def test_frames_that_come_with_the_handshake_follow_the_headers(certificate: Certificate) -> None:
    async with rig(certificate) as it:
        it.container.greeting = (Frame(Opcode.TEXT, b"first"), Frame(Opcode.BINARY, b"second"))
        stream = it.client.open()
        response = await it.client.answered(stream)
        await it.client.until(lambda: len(response.messages) == 2)
        assert [message.payload for message in response.messages] == [b"first", b"second"]


async def test_fragments_pass_one_to_one_towards_the_container(certificate: Certificate) -> None:
    async with rig(certificate) as it:
        stream, container = await it.stream()
        for data, text, final in (
            (b"whole", True, True),
            (b"\xe2\x82", True, False),  # a character, cut in two
            (b"", True, False),
            (b"\xac", False, True),  # its type was said by the first part
            (b"\0\1", False, None),
            (b"a", False, False),
            (b"b", False, None),
        ):
            it.client.part(stream, data, text=text, final=final)
        frames = [await container.frame() for _ in range(7)]
        assert [(frame.opcode, frame.fin, bytes(frame.data)) for frame in frames] == [
            (Opcode.TEXT, True, b"whole"),
            (Opcode.TEXT, False, b"\xe2\x82"),
            (Opcode.CONT, False, b""),
            (Opcode.CONT, True, b"\xac"),
            (Opcode.BINARY, True, b"\0\1"),
            (Opcode.BINARY, False, b"a"),
            (Opcode.CONT, True, b"b"),
        ]


async def test_fragments_pass_one_to_one_towards_the_client(certificate: Certificate) -> None:
    async with rig(certificate) as it:
        stream, container = await it.stream()
        container.send(Opcode.TEXT, b"whole")
        container.send(Opcode.BINARY, b"a", fin=False)
        container.send(Opcode.CONT, b"", fin=False)
        container.send(Opcode.CONT, b"b")
        container.send(Opcode.TEXT, b"\xe2\x82", fin=False)
        container.send(Opcode.CONT, b"\xac")
        response = it.client.responses[stream]
        await it.client.until(lambda: len(response.messages) == 6)
        assert [
            (message.headers["DataType"], message.headers["CompletionState"], message.payload)
            for message in response.messages
        ] == [
            ("UTF8", "COMPLETE", b"whole"),
            ("BINARY", "PARTIAL", b"a"),
            ("BINARY", "PARTIAL", b""),
            ("BINARY", "COMPLETE", b"b"),
            ("UTF8", "PARTIAL", b"\xe2\x82"),
            ("UTF8", "COMPLETE", b"\xac"),
        ]


async def test_a_part_larger_than_the_windows_passes_whole(certificate: Certificate) -> None:
    async with rig(certificate) as it:
        stream, container = await it.stream()
        data = bytes(range(256)) * 8192  # 2 MiB
        await it.client.send_all(stream, part(data, text=False))
        frame = await container.frame()
        assert frame.data == data
        container.send(Opcode.BINARY, data)
        response = it.client.responses[stream]
        await it.client.until(lambda: len(response.body) > len(data))
        assert response.messages[0].payload == data


@pytest.mark.parametrize("code", [1000, 1011, 4001])
async def test_a_close_of_the_container_is_an_error_that_says_why(certificate: Certificate, code: int) -> None:
    async with rig(certificate) as it:
        stream, container = await it.stream()
        container.send(Opcode.TEXT, b"last words")
        container.close(code, "enough, thanks")
        response = await it.client.ended(stream)
        await it.client.until(lambda: response.reset is not None)
        assert (response.ended, response.reset) == (True, 0)
        assert response.messages[0].payload == b"last words"
        assert error_of(response) == {
            "type": "ModelStreamError",
            "Message": f"WebSocket closed by the container: code={code}, reason=enough, thanks",
            "ErrorCode": "StreamBroken",
        }
        await container.gone()
        assert it.log.all("sidecar.closed") == [{"connection": 1, "stream": 1, "code": code, "by": "container"}]
        assert "enough" not in str(it.log.events)


async def test_a_container_that_vanishes_is_an_error(certificate: Certificate) -> None:
    async with rig(certificate) as it:
        stream, container = await it.stream()
        container.abort()
        response = await it.client.ended(stream)
        assert error_of(response)["Message"] == "WebSocket closed by the container: code=1006, reason="


async def test_a_container_that_breaks_the_protocol_is_told_and_is_an_error(certificate: Certificate) -> None:
    async with rig(certificate) as it:
        stream, container = await it.stream()
        container.write(b"\xff\xff")
        response = await it.client.ended(stream)
        assert error_of(response)["Message"].startswith("WebSocket closed by the runtime: code=1002, reason=")
        close = await container.frame()
        assert (close.opcode, close.data[:2]) == (Opcode.CLOSE, (1002).to_bytes(2))


@pytest.mark.parametrize("by_event", [True, False])
async def test_after_the_end_of_the_input_the_container_has_its_say(certificate: Certificate, by_event: bool) -> None:
    async with rig(certificate, Timings(drain_s=0.2)) as it:
        stream, container = await it.stream()
        it.client.part(stream, b"hello")
        it.client.send(stream, END if by_event else b"", end=not by_event)
        assert (await container.frame()).data == b"hello"
        assert await it.logged("input.ended") == [{"connection": 1, "stream": 1, "empty_event": by_event}]
        for _ in range(5):  # for longer than it may be silent
            await asyncio.sleep(0.1)
            container.send(Opcode.BINARY, b"\0\0")
        close = await container.frame()
        assert (close.opcode, close.data[:2]) == (Opcode.CLOSE, (1000).to_bytes(2))
        response = await it.client.ended(stream)
        assert [message.headers[":message-type"] for message in response.messages] == ["event"] * 5


async def test_a_container_is_not_silent_while_the_client_takes_nothing(certificate: Certificate) -> None:
    async with rig(certificate, Timings(drain_s=0.05)) as it:
        stream, container = await it.stream()
        it.client.thirsty.add(stream)
        container.send(Opcode.BINARY, bytes(2**20))
        await it.logged("to_client")
        it.client.send(stream, b"", end=True)
        await it.logged("input.ended")
        await asyncio.sleep(0.3)
        assert container.frames.empty()
        it.client.h2.increment_flow_control_window(2**21, stream)
        it.client.flush()
        assert (await container.frame()).opcode is Opcode.CLOSE
        response = await it.client.ended(stream)
        assert len(response.messages[0].payload) == 2**20


async def test_nothing_that_follows_the_end_of_the_input_is_passed_on(certificate: Certificate) -> None:
    async with rig(certificate) as it:
        stream, container = await it.stream()
        it.client.send(stream, END + part(b"late"))
        it.client.part(
            stream,
            b"later",
        )
        await it.logged("input.ended")
        container.send(Opcode.TEXT, b"still here")
        response = it.client.responses[stream]
        await it.client.until(lambda: bool(response.messages))
        assert container.frames.empty()


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        (b"no event stream at all", "ValidationError"),
        (part(b"x")[:-1] + b"\0", "ValidationError"),
        (part(b"x").replace(b"PayloadPart", b"PayloadPert"), "ValidationError"),
    ],
)
async def test_input_that_is_no_stream_of_parts_ends_the_stream(
    certificate: Certificate, sent: bytes, code: str
) -> None:
    async with rig(certificate) as it:
        stream, container = await it.stream()
        it.client.send(stream, sent)
        response = await it.client.ended(stream)
        assert (error_of(response)["type"], error_of(response)["ErrorCode"]) == ("ModelStreamError", code)
        close = await container.frame()
        assert (close.opcode, close.data[:2]) == (Opcode.CLOSE, (1001).to_bytes(2))


async def test_input_that_ends_within_an_event_ends_the_stream(certificate: Certificate) -> None:
    async with rig(certificate) as it:
        stream, _ = await it.stream()
        it.client.send(stream, part(b"x")[:-1], end=True)
        response = await it.client.ended(stream)
        assert error_of(response)["Message"] == "the input ends within an event"


async def test_a_client_that_gives_a_stream_up_closes_the_container(certificate: Certificate) -> None:
    async with rig(certificate) as it:
        stream, container = await it.stream()
        it.client.h2.reset_stream(stream, 8)
        it.client.flush()
        close = await container.frame()
        assert (close.opcode, close.data[:2]) == (Opcode.CLOSE, (1001).to_bytes(2))
        await container.gone()
        assert it.log.all("stream.reset") == [{"connection": 1, "stream": 1, "error_code": 8, "by": "client"}]
        assert len(await it.logged("stream.closed")) == 1


async def test_a_client_that_goes_away_closes_the_containers(certificate: Certificate) -> None:
    async with rig(certificate) as it:
        (_, first), (_, second) = await it.stream(), await it.stream()
        it.client.writer.transport.abort()
        for container in (first, second):
            assert (await container.frame()).opcode is Opcode.CLOSE
        assert len(await it.logged("connection.closed")) == 1


async def test_a_client_that_gives_up_during_the_handshake_leaves_nothing_behind(certificate: Certificate) -> None:
    async with rig(certificate) as it:
        it.container.silent = True
        stream = it.client.open()
        await eventually(lambda: bool(it.container.open))
        it.client.h2.reset_stream(stream)
        it.client.flush()
        await eventually(lambda: not it.container.open)


async def test_a_stream_lasts_only_so_long(certificate: Certificate) -> None:
    async with rig(certificate, Timings(max_stream_s=0.1)) as it:
        stream, container = await it.stream()
        response = await it.client.ended(stream)
        assert error_of(response)["ErrorCode"] == "ModelInvocationTimeExceeded"
        assert (await container.frame()).opcode is Opcode.CLOSE


async def test_pings_that_are_answered_keep_the_stream(certificate: Certificate) -> None:
    async with rig(certificate, Timings(ping_interval_s=0.02, missed_pongs=2)) as it:
        stream, container = await it.stream()
        await it.logged("ping", times=8)
        assert container.pings >= 7
        assert not it.client.responses[stream].ended
        assert not it.log.all("pong.missed")


async def test_five_pings_that_are_not_answered_end_the_stream(certificate: Certificate) -> None:
    async with rig(certificate, Timings(ping_interval_s=0.02)) as it:
        it.container.mute = True
        stream, container = await it.stream()
        response = await it.client.ended(stream)
        assert error_of(response)["Message"] == "WebSocket closed by the runtime: code=1006, reason=ping timeout"
        assert container.pings == 5
        assert [event["missed"] for event in it.log.all("pong.missed")] == [1, 2, 3, 4]
        await container.gone()


async def test_one_pong_answers_the_pings_before_it(certificate: Certificate) -> None:
    async with rig(certificate, Timings(ping_interval_s=0.02)) as it:
        it.container.mute = True
        stream, container = await it.stream()
        await it.logged("pong.missed", times=3)
        container.mute = False
        await it.logged("ping", times=15)
        assert not it.client.responses[stream].ended


async def test_what_a_stream_carried_is_counted(certificate: Certificate) -> None:
    async with rig(certificate) as it:
        stream, container = await it.stream()
        it.client.part(stream, b"four")
        await container.frame()
        container.send(Opcode.BINARY, bytes(10))
        container.close(1000)
        await it.client.ended(stream)
        (closed,) = await it.logged("stream.closed")
        assert {name: closed[name] for name in ("bytes_in", "bytes_out", "parts_in", "parts_out")} == {
            "bytes_in": 4,
            "bytes_out": 10,
            "parts_in": 1,
            "parts_out": 1,
        }
        sizes = {"connection": 1, "stream": 1, "completion": "COMPLETE", "fin": True}
        assert it.log.all("to_container") == [{**sizes, "data_type": "UTF8", "opcode": "TEXT", "bytes": 4}]
        assert it.log.all("to_client") == [{**sizes, "data_type": "BINARY", "opcode": "BINARY", "bytes": 10}]


async def test_the_log_has_no_query_and_no_text(certificate: Certificate) -> None:
    async with rig(certificate) as it:
        stream, container = await it.stream(model_query_string="token=secret", model_invocation_path="v1")
        it.client.part(stream, b"secret")
        await container.frame()
        assert "secret" not in str(it.log.events)


async def test_a_client_that_ends_its_input_after_the_response_is_not_reset(certificate: Certificate) -> None:
    async with rig(certificate, Timings(linger_s=0.2)) as it:
        stream, container = await it.stream()
        other, other_container = await it.stream()
        for one in (container, other_container):
            one.close(1000)
        response = await it.client.ended(stream)
        await asyncio.sleep(0.05)
        it.client.part(stream, b"crossing")
        it.client.send(stream, b"", end=True)
        await it.client.until(lambda: it.client.responses[other].reset is not None)
        assert (response.reset, it.client.responses[other].reset) == (None, 0)


async def test_a_goodbye_of_the_client_ends_no_stream(certificate: Certificate) -> None:
    async with rig(certificate) as it:
        stream, container = await it.stream()
        # As AWS's SDK for JavaScript says it once the response has begun; `h2` itself would end all streams with it.
        it.client.writer.write(GoAwayFrame(last_stream_id=0).serialize())
        it.client.part(stream, b"on and on")
        assert (await container.frame()).data == b"on and on"
        container.send(Opcode.TEXT, b"and back")
        response = it.client.responses[stream]
        await it.client.until(lambda: len(response.messages) == 1)
        assert response.messages[0].payload == b"and back"
