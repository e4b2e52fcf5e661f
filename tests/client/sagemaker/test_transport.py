"""The transport against a runtime that does what it should, and everything that it may.

Also run with old versions of the AWS SDK, each in an environment of its own: `tests/compat/test_aws_sdks.py`.
"""

import asyncio
import logging
import os
import random
import socket
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from h2.errors import ErrorCodes
from tests.client.sagemaker.conftest import Listening
from tests.client.sagemaker.runtime import KEY_ID, SECRET, Runtime, Script, Stream, event, failure, part

from antiphon.client.errors import ConnectError
from antiphon.client.sagemaker import clients, http2, sdk, transport
from antiphon.client.sagemaker.opening import open_sagemaker
from antiphon.client.sagemaker.transport import SageMakerTransport
from antiphon.client.targets import ConnectOptions
from antiphon.client.transport import ConnectionClosedError, Transport

pytestmark = pytest.mark.anyio

FAREWELL = b'{"type":"session.close"}'

# CRT before 0.29 can neither hold a server back nor tell the end of a response from that of a stream.
OLD_CRT = not http2._window_options()


async def connect(target: str = "sagemaker://voice", timeout_s: float = 10.0) -> SageMakerTransport:
    return await open_sagemaker(target, ConnectOptions(connect_timeout_s=timeout_s))


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


async def forever(action: Callable[[], Awaitable[object]]) -> None:
    while True:
        await action()


async def ending(connection: Transport) -> ConnectionClosedError:
    """What ends the stream, once all has been received."""
    with pytest.raises(ConnectionClosedError) as caught:
        await asyncio.wait_for(forever(connection.receive), 5)
    return caught.value


async def echo(stream: Stream) -> None:
    """An endpoint that says everything again, and goodbye."""
    stream.begin()
    while (sent := await stream.events.get()) is not None:
        if sent.data == FAREWELL:
            return await stream.close(1000, "goodbye")
        assert sent.headers["CompletionState"] == "COMPLETE"
        await stream.write(part(sent.data, text=sent.headers["DataType"] == "UTF8"))
    stream.end()
    return None


def then(action: Callable[[Stream], None], data: bytes = b"") -> Script:
    """An endpoint that begins, sends some bytes, and does something."""

    async def script(stream: Stream) -> None:
        stream.begin()
        await stream.write(data)
        action(stream)

    return script


async def test_messages_go_both_ways(runtime: Listening) -> None:
    async with runtime(echo) as server:
        connection = await connect("sagemaker://voice?variant=AllTraffic&path=/v1/other")
        assert isinstance(connection, Transport)
        await connection.send("héllo")
        assert await connection.receive() == "héllo"
        await connection.close()

    (stream,) = server.streams
    assert stream.headers[":path"].removesuffix("?") == "/endpoints/voice/invocations-bidirectional-stream"
    assert stream.headers["x-amzn-sagemaker-model-invocation-path"] == "v1/other"
    assert stream.headers["x-amzn-sagemaker-target-variant"] == "AllTraffic"


async def test_the_speech_stream_is_the_path_by_default(runtime: Listening) -> None:
    async with runtime(echo) as server:
        await (await connect()).close()

    assert server.streams[0].headers["x-amzn-sagemaker-model-invocation-path"] == "v1/audio/speech/stream"
    assert "x-amzn-sagemaker-target-variant" not in server.streams[0].headers


async def test_many_tasks_may_send(runtime: Listening) -> None:
    async with runtime(echo):
        connection = await connect()
        texts = [str(number) for number in range(100)]
        await asyncio.gather(*(connection.send(text) for text in texts))
        assert [await connection.receive() for _ in texts] == texts
        await connection.close()


@pytest.mark.parametrize("seed", range(3))
async def test_cancelled_sends_leave_order_and_signatures_right(runtime: Listening, seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - no secret
    async with runtime(echo):
        connection = await connect()
        tasks = [asyncio.create_task(connection.send(str(number))) for number in range(60)]
        for task in chance.sample(tasks, 30):
            for _ in range(chance.randrange(8)):
                await asyncio.sleep(0)
            task.cancel()
        await asyncio.wait(tasks)
        await connection.send("last")
        echoed = [await connection.receive()]
        while echoed[-1] != "last":
            echoed.append(await connection.receive())
        await connection.close()

    numbers = [int(text) for text in echoed[:-1]]
    assert numbers == sorted(numbers)
    assert set(numbers) >= {number for number, task in enumerate(tasks) if not task.cancelled()}


async def test_a_cancelled_receive_loses_nothing(runtime: Listening) -> None:
    async with runtime(echo):
        connection = await connect()
        for _ in range(3):
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(connection.receive(), 0.01)
        await connection.send("still there")
        assert await connection.receive() == "still there"
        await connection.close()


async def test_parts_are_put_together(runtime: Listening) -> None:
    text = "äöü".encode()
    parts = [
        *(part(text[at : at + 1], text=True, last=False) for at in range(len(text))),
        part(b"", text=True),
        part(b"\x00", last=False),
        part(b"\x01"),
    ]
    async with runtime(then(Stream.end, b"".join(parts))):
        connection = await connect()
        assert await connection.receive() == "äöü"
        assert await connection.receive() == b"\x00\x01"
        await connection.close()


async def test_a_message_may_be_large(runtime: Listening) -> None:
    data = os.urandom(4 * 2**20)
    pieces = [part(data[at : at + 2**20], last=at + 2**20 >= len(data)) for at in range(0, len(data), 2**20)]
    async with runtime(then(Stream.end, b"".join(pieces))):
        connection = await connect()
        assert await connection.receive() == data
        await connection.close()


@pytest.mark.parametrize(
    ("data", "code", "reason"),
    [
        (part(b"\xff", text=True), 1007, "UTF-8"),
        (part(b"x" * 2**20, last=False) * 4 + part(b"x"), 1009, "larger than 4 MiB"),
        (
            failure("ModelStreamError", Message="x: code=1008, reason=no, thanks", ErrorCode="Broken"),
            1008,
            "no, thanks",
        ),
        (failure("ModelStreamError", Message="closed", ErrorCode="4001"), 4001, "closed"),
        (failure("ModelStreamError", Message="out of memory", ErrorCode="Broken"), 1011, "Broken out of memory"),
        (failure("InternalStreamFailure", Message="oops"), 1011, "oops"),
    ],
)
async def test_a_stream_may_end_in_many_ways(runtime: Listening, data: bytes, code: int, reason: str) -> None:
    async with runtime(then(Stream.end, part(b"before") + data)):
        connection = await connect()
        assert await connection.receive() == b"before"
        closed = await ending(connection)
        assert (closed.code, reason in closed.reason) == (code, True), closed
        with pytest.raises(ConnectionClosedError):
            await connection.send("more")
        await connection.close()
        assert (await ending(connection)).code == code


async def test_an_event_of_tomorrow_is_passed_over_where_the_sdk_can(runtime: Listening) -> None:
    headers = {":message-type": "event", ":event-type": "Tomorrow"}
    async with runtime(then(Stream.end, event(headers, b"") + part(b"after"))):
        connection = await connect()
        if tuple(map(int, sdk.version().split("."))) >= (0, 9):
            assert await connection.receive() == b"after"
        else:
            assert (await ending(connection)).code == 1003
        await connection.close()


async def test_no_connection_has_more_streams_than_it_may(runtime: Listening, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clients, "MAX_STREAMS", 2)
    async with runtime(echo) as server:
        voices = await asyncio.gather(*(connect() for _ in range(5)))
        assert len(server.connections) == 3
        await asyncio.gather(*(voice.close() for voice in voices))


def lose(stream: Stream) -> None:
    stream.connection.drop()


def finish(stream: Stream) -> None:
    stream.end()
    if OLD_CRT:
        stream.reset()


@pytest.mark.parametrize(
    ("action", "data", "code", "reason"),
    [
        (finish, b"", 1006, "without a close"),
        (finish, part(b"x" * 100)[:50], 1002, "cannot be read"),
        (lambda stream: stream.reset(ErrorCodes.INTERNAL_ERROR), b"", 1006, "reset"),
        (lose, b"", 1006, "lost"),
        (lose, part(b"x" * 100)[:50], 1006, "lost"),
    ],
    ids=["end", "end-within-event", "reset", "lost", "lost-within-event"],
)
async def test_no_close_is_no_good_ending(
    runtime: Listening, action: Callable[[Stream], None], data: bytes, code: int, reason: str
) -> None:
    async with runtime(then(action, part(b"before") + data)):
        connection = await connect()
        assert await connection.receive() == b"before"
        closed = await ending(connection)
        assert (closed.code, reason in closed.reason) == (code, True), closed
        await connection.close()


async def test_a_send_learns_why_the_stream_is_over(runtime: Listening) -> None:
    async def script(stream: Stream) -> None:
        stream.begin()
        await stream.events.get()
        await stream.close(1001, "scaled in")

    async with runtime(script):
        connection = await connect()
        with pytest.raises(ConnectionClosedError) as caught:
            await asyncio.wait_for(forever(lambda: connection.send("x")), 5)
        assert (caught.value.code, caught.value.reason) == (1001, "scaled in")
        await connection.close()


@pytest.mark.parametrize(
    ("status", "name", "fields", "said", "retryable"),
    [
        (400, "InputValidationError", {"Message": "Endpoint voice not found."}, "Endpoint voice not found;", False),
        (400, "ThrottlingException", {"message": "Rate exceeded"}, "Rate exceeded", True),
        (403, "AccessDeniedException", {"Message": "no"}, "sagemaker:InvokeEndpointWithBidirectionalStream", False),
        (403, "ExpiredTokenException:http://x/", {}, "have expired", False),
        (403, None, {"__type": "com.amazonaws#InvalidSignatureException"}, "clock", False),
        (404, "UnknownOperationException", {}, "404", False),
        (424, "ModelError", {"Message": "Failed", "OriginalStatusCode": 403}, "the container answered 403", True),
        (424, None, {"Message": "Failed to establish"}, "Failed to establish", True),
        (429, None, {}, "try again later", True),
        (500, "InternalServerError", {"Message": "oops"}, "oops", True),
        (503, "ServiceUnavailableError", {}, "try again later", True),
        (599, None, {}, "HTTP 599", True),
    ],
)
async def test_a_refusal_is_told_at_once(  # noqa: PLR0917 - as many parameters as the table has columns
    runtime: Listening, status: int, name: str | None, fields: dict[str, str | int], said: str, retryable: bool
) -> None:
    async def script(stream: Stream) -> None:
        await stream.refuse(status, name, **fields)

    async with runtime(script):
        began = time.monotonic()
        with pytest.raises(ConnectError) as caught:
            await connect()
        assert time.monotonic() - began < 5

    assert said in str(caught.value)
    assert "sagemaker://voice" in str(caught.value)
    assert caught.value.retryable is retryable


async def test_a_refusal_may_be_no_json_and_large(runtime: Listening) -> None:
    async def script(stream: Stream) -> None:
        stream.begin(502, content_type="text/html")
        await stream.write(b"<" * 200_000)
        stream.end()

    async with runtime(script):
        with pytest.raises(ConnectError, match="HTTP 502") as caught:
            await connect()

    assert len(str(caught.value)) < 200


async def test_a_connection_lost_before_the_answer_is_told_at_once(runtime: Listening) -> None:
    async def script(stream: Stream) -> None:
        stream.connection.drop()

    async with runtime(script):
        began = time.monotonic()
        with pytest.raises(ConnectError, match="lost") as caught:
            await connect()
        assert time.monotonic() - began < 5
        assert caught.value.retryable


async def test_an_endpoint_that_never_answers_is_given_up(runtime: Listening) -> None:
    async def script(stream: Stream) -> None:
        await stream.events.get()

    async with runtime(script):
        with pytest.raises(ConnectError, match=r"did not answer within 0\.5 s") as caught:
            await connect(timeout_s=0.5)
        assert caught.value.retryable


async def test_two_streams_share_a_connection_and_the_last_closes_it(runtime: Listening) -> None:
    async with runtime(echo) as server:
        first, second = await asyncio.gather(connect(), connect())
        assert len(server.connections) == 1
        await first.close()
        await second.send("on")
        assert await second.receive() == "on"
        third = await connect()
        assert len(server.connections) == 1
        await second.close()
        await third.close()


async def test_a_server_s_limit_opens_another_connection(runtime: Listening) -> None:
    async with runtime(echo) as server:
        server.max_streams = 1
        first = await connect()
        await first.send("x")
        await first.receive()
        second = await connect()
        assert len(server.connections) == 2
        await first.close()
        await second.close()


@pytest.mark.parametrize("end", ["drop", "go_away"])
async def test_a_connection_that_ends_is_not_handed_out(runtime: Listening, end: str) -> None:
    async with runtime(echo) as server:
        first = await connect()
        getattr(server.connections[0], end)()
        if end == "drop":
            assert (await ending(first)).code == 1006
        second = await connect()
        await second.send("alive")
        assert await second.receive() == "alive"
        await first.close()
        await second.close()


async def deaf(stream: Stream) -> None:
    """An endpoint that says something and hears nothing."""
    stream.begin()
    await stream.write(part(b"hello"))


async def test_closing_takes_bounded_time_and_retires_the_connection(
    runtime: Listening, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport, "CLOSE_TIMEOUT_S", 0.3)
    async with runtime(deaf) as server:
        first, second = await connect(), await connect()
        began = time.monotonic()
        await first.close()
        assert 0.2 < time.monotonic() - began < 2
        third = await connect()
        assert len(server.connections) == 2
        assert await second.receive() == b"hello"
        await asyncio.gather(second.close(), third.close())


async def test_a_server_that_takes_nothing_holds_back_and_can_be_left(
    runtime: Listening, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport, "CLOSE_TIMEOUT_S", 0.3)
    async with runtime(deaf) as server:
        server.deaf = True
        connection = await connect()
        sent: list[int] = []

        async def send() -> None:
            await connection.send("x" * 2**16)
            sent.append(2**16)

        with pytest.raises(TimeoutError):
            await asyncio.wait_for(forever(send), 1)
        assert sum(sent) < 2**22
        waiting = asyncio.create_task(connection.send("x"))
        await asyncio.sleep(0.01)
        await connection.close(1001, "enough")
        with pytest.raises(ConnectionClosedError, match="enough"):
            await waiting


@pytest.mark.skipif(OLD_CRT, reason="CRT before 0.29 has no flow control of its own")
async def test_a_client_that_receives_nothing_holds_the_server_back(runtime: Listening) -> None:
    written = 0

    async def script(stream: Stream) -> None:
        nonlocal written
        stream.begin()
        for number in range(200):
            await stream.write(part(bytes([number]) * 2**16))
            written += 1
        await echo_after(stream)

    async def echo_after(stream: Stream) -> None:
        while (sent := await stream.events.get()) is not None:
            if sent.data == FAREWELL:
                await stream.close(1000, "")

    async with runtime(script) as server:
        connection, other = await connect(), await connect()
        before = -1
        while written != before:
            before = written
            await asyncio.sleep(0.3)
        bound = 2 * (transport.MAX_QUEUED_BYTES + 2 * http2.WINDOW_BYTES + 2**17)
        assert written * 2**16 < bound
        assert len(server.connections) == 1
        for number in range(200):
            assert await connection.receive() == bytes([number]) * 2**16
        for _ in range(200):
            await other.receive()
        await connection.close()
        await other.close()


async def test_whoever_waits_hears_of_the_close(runtime: Listening) -> None:
    async with runtime(echo):
        connection = await connect()
        waiting = asyncio.create_task(connection.receive())
        await asyncio.sleep(0.01)
        await asyncio.gather(connection.close(4000, "mine"), connection.close(4001, "late"))
        with pytest.raises(ConnectionClosedError) as caught:
            await waiting
        assert (caught.value.code, caught.value.reason) == (4000, "mine")
        with pytest.raises(ConnectionClosedError):
            await connection.send("x")


async def test_a_cancelled_close_still_closes(runtime: Listening) -> None:
    async with runtime(echo):
        connection = await connect()
        closing = asyncio.create_task(connection.close())
        await asyncio.sleep(0)
        closing.cancel()
        await asyncio.wait({closing})
        await connection.close()


async def test_opening_may_be_cancelled_at_any_time(runtime: Listening) -> None:
    async with runtime(echo):
        opened = 0
        for steps in [*range(40), *(2**power for power in range(6, 14))]:
            opening = asyncio.create_task(connect())
            for _ in range(steps):
                await asyncio.sleep(0)
            if opening.done():
                await opening.result().close()
                opened += 1
                continue
            opening.cancel()
            with pytest.raises(asyncio.CancelledError):
                await opening
        connection = await connect()
        await connection.send("fine")
        assert await connection.receive() == "fine"
        await connection.close()


async def test_nothing_is_left_of_many_streams(runtime: Listening) -> None:
    async with runtime(echo) as server:
        await (await connect()).close()
        before = descriptors()
        for _ in range(20):
            connection = await connect()
            await connection.send("x")
            await connection.receive()
            await connection.close()
        await asyncio.wait_for(server.idle.wait(), 5)
        assert descriptors() <= before


async def test_a_stream_keeps_its_key(runtime: Listening, aws: pytest.MonkeyPatch) -> None:
    async with runtime(echo) as server:
        connection = await connect()
        aws.setenv("AWS_ACCESS_KEY_ID", "AKIDROTATED")
        aws.setenv("AWS_SECRET_ACCESS_KEY", "another")
        await connection.send("the old key")
        assert await connection.receive() == "the old key"
        await connection.close()
        assert server.faults == []
        assert KEY_ID in server.streams[0].headers["authorization"]


async def test_a_session_token_is_sent(runtime: Listening, aws: pytest.MonkeyPatch) -> None:
    aws.setenv("AWS_SESSION_TOKEN", "tok3n")
    async with runtime(echo) as server:
        await (await connect()).close()

    assert server.streams[0].headers["x-amz-security-token"] == "tok3n"


async def test_neither_text_nor_secrets_are_logged(runtime: Listening, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with runtime(echo):
        connection = await connect()
        await connection.send("between us")
        await connection.receive()
        await connection.close()

    assert "between us" not in caplog.text
    assert SECRET not in caplog.text


async def test_an_untrusted_certificate_is_told_in_time(runtime: Listening, aws: pytest.MonkeyPatch) -> None:
    async with runtime(echo):
        aws.delenv("AWS_CA_BUNDLE")
        began = time.monotonic()
        with pytest.raises(ConnectError, match=r"not trusted.*AWS_CA_BUNDLE") as caught:
            await connect()
        assert time.monotonic() - began < 5
        assert not caught.value.retryable


async def test_the_authorities_may_be_passed(runtime: Listening, aws: pytest.MonkeyPatch, ca_file: str) -> None:
    async with runtime(echo):
        aws.delenv("AWS_CA_BUNDLE")
        connection = await open_sagemaker("sagemaker://voice", ConnectOptions(ca_file=ca_file))
        await connection.close()


async def test_authorities_that_cannot_be_read_are_named(runtime: Listening, tmp_path: Path) -> None:
    nonsense = tmp_path / "nonsense.pem"
    nonsense.write_text("none")
    async with runtime(echo):
        for file, said in [(tmp_path / "missing.pem", "missing.pem"), (nonsense, "authorities")]:
            with pytest.raises(ConnectError, match=said) as caught:
                await open_sagemaker("sagemaker://voice", ConnectOptions(ca_file=str(file)))
            assert not caught.value.retryable


async def test_nobody_there_is_told_at_once(aws: pytest.MonkeyPatch) -> None:
    aws.setenv("AWS_ENDPOINT_URL", "https://127.0.0.1:1")
    with pytest.raises(ConnectError, match=r"127\.0\.0\.1:1: connection refused") as caught:
        await connect()

    assert caught.value.retryable


async def test_a_server_that_only_accepts_is_given_up(aws: pytest.MonkeyPatch, ca_file: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        aws.setenv("AWS_ENDPOINT_URL", f"https://127.0.0.1:{listening.getsockname()[1]}")
        with pytest.raises(ConnectError, match=r"did not answer within 0\.4 s"):
            await connect(timeout_s=0.4)


def test_each_event_loop_has_its_own_connections(certificate: tuple[Path, Path], aws: pytest.MonkeyPatch) -> None:
    aws.setenv("AWS_CA_BUNDLE", str(certificate[0]))

    async def talk() -> str | bytes:
        async with Runtime(echo).listening(certificate) as server:
            aws.setenv("AWS_ENDPOINT_URL", server.url)
            connection = await connect()
            await connection.send("hello")
            answer = await connection.receive()
            await connection.close()
            return answer

    assert [asyncio.run(talk()) for _ in range(2)] == ["hello", "hello"]
