import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

import httpx
import pytest
from tests.emulator.runtime.driving import TIMINGS, Backend, Certificate, Log, Registry, eventually
from tests.emulator.runtime.http_container import CHUNKED, HttpContainer, chunk, http_container, response

from antiphon.emulator.runtime.server import Runtime
from antiphon.emulator.runtime.timings import Timings
from antiphon.emulator.wire.eventstream import Decoder, Message

pytestmark = pytest.mark.anyio

INVOKE = "/endpoints/ep/invocations"
STREAM = "/endpoints/ep/invocations-response-stream"
BIG = 64 * 2**20


@dataclass(slots=True)
class Client:
    """A socket that speaks HTTP/1.1 over TLS."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    def ask(self, target: str = INVOKE, body: bytes = b"{}", *headers: str, length: int | None = None) -> None:
        length = len(body) if length is None else length
        lines = [f"POST {target} HTTP/1.1", "Host: 127.0.0.1", f"Content-Length: {length}", *headers, "", ""]
        self.writer.write("\r\n".join(lines).encode() + body)

    async def head(self) -> tuple[int, dict[str, str]]:
        lines = (await asyncio.wait_for(self.reader.readuntil(b"\r\n\r\n"), 10)).decode("latin-1").split("\r\n")
        headers = dict(line.split(": ", 1) for line in lines[1:-2])
        return int(lines[0].split(" ")[1]), {name.lower(): value for name, value in headers.items()}

    async def answer(self) -> tuple[int, dict[str, str], bytes]:
        status, headers = await self.head()
        return status, headers, await self.reader.readexactly(int(headers["content-length"]))

    async def closed(self) -> bytes:
        """Read what is left until the runtime closes."""
        return await asyncio.wait_for(self.reader.read(), 10)


@dataclass(slots=True)
class Rig:
    runtime: Runtime
    port: int
    container: HttpContainer
    client: Client
    log: Log

    async def reason(self) -> str:
        """Why the connection was closed."""
        await eventually(lambda: bool(self.log.all("connection.closed")))
        return str(self.log.all("connection.closed")[0]["reason"])


@asynccontextmanager
async def rig(certificate: Certificate, timings: Timings = TIMINGS) -> AsyncIterator[Rig]:
    log = Log()
    async with http_container() as container:
        runtime = Runtime(Registry({"ep": Backend(container.url)}), None, timings, log, certificate.context())
        async with runtime.listening("127.0.0.1", 0) as port:
            context = ssl.create_default_context(cafile=str(certificate.authority))
            context.set_alpn_protocols(["http/1.1"])
            reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
            try:
                yield Rig(runtime, port, container, Client(reader, writer), log)
            finally:
                writer.transport.abort()


async def test_invocations_follow_one_another_on_one_connection(certificate: Certificate) -> None:
    async with rig(certificate) as r:
        for body in (b"one", b"two"):
            r.container.answers(response(200, body, content_type="text/plain"))
            r.client.ask()
            status, headers, got = await r.client.answer()
            assert (status, headers["content-type"], got) == (200, "text/plain", body)
            assert headers["x-amzn-invoked-production-variant"] == "AllTraffic"
            assert len(headers["x-amzn-requestid"]) == 36
        assert [fields["stream"] for fields in r.log.all("request")] == [1, 2]


async def test_invocations_that_are_sent_ahead_are_answered_in_turn(certificate: Certificate) -> None:
    async with rig(certificate) as r:
        r.container.answers(response(200, b"ok"))
        for _ in range(3):
            r.client.ask()
        assert [(await r.client.answer())[2] for _ in range(3)] == [b"ok"] * 3


async def test_a_stream_arrives_as_it_is_made(certificate: Certificate) -> None:
    release = asyncio.Event()
    async with rig(certificate) as r:

        async def script(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(CHUNKED + chunk(b"one"))
            await release.wait()
            writer.write(chunk(b"two") + chunk(b""))

        r.container.script = script
        r.client.ask(STREAM)
        status, headers = await r.client.head()
        assert (status, headers["transfer-encoding"]) == (200, "chunked")
        await asyncio.wait_for(r.client.reader.readuntil(b"one"), 5)
        release.set()
        await asyncio.wait_for(r.client.reader.readuntil(b"two"), 5)
        await asyncio.wait_for(r.client.reader.readuntil(b"0\r\n\r\n"), 5)


async def test_a_client_that_reads_nothing_lets_the_container_wait(certificate: Certificate) -> None:
    async with rig(certificate) as r:
        sent = 0

        async def script(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            nonlocal sent
            writer.write(CHUNKED)
            while sent < BIG:
                writer.write(chunk(bytes(2**16)))
                await writer.drain()
                sent += 2**16
            writer.write(chunk(b""))

        r.container.script = script
        r.client.ask(STREAM)
        await eventually(lambda: sent > 0)
        before = -1
        while before != sent:
            before = sent
            await asyncio.sleep(0.2)
        assert sent < BIG
        got = 0
        while not (data := await r.client.reader.read(2**20)).endswith(b"0\r\n\r\n"):
            got += len(data)
        assert sent == BIG
        assert got + len(data) > BIG


async def test_a_bidirectional_stream_is_told_that_it_needs_http2(certificate: Certificate) -> None:
    async with rig(certificate) as r:
        r.client.ask("/endpoints/ep/invocations-bidirectional-stream")
        status, headers, body = await r.client.answer()
        assert (status, headers["x-amzn-errortype"]) == (400, "InputValidationError")
        assert "HTTP/2" in json.loads(body)["Message"]


async def test_a_body_that_was_refused_may_still_come_before_the_connection_ends(certificate: Certificate) -> None:
    async with rig(certificate) as r:
        r.client.ask("/endpoints/-/invocations", length=2**20)
        status, headers, body = await r.client.answer()
        assert (status, headers["connection"]) == (400, "close")
        assert json.loads(body)["Message"].startswith("endpoint_name does not match")
        r.client.writer.write(bytes(2**20 - 2))
        assert await r.client.closed() == b""


async def test_a_client_that_goes_on_after_its_answer_is_cut_off(certificate: Certificate) -> None:
    async with rig(certificate, replace(TIMINGS, close_timeout_s=0.05)) as r:
        r.client.ask("/endpoints/-/invocations", length=2**20)
        assert (await r.client.answer())[0] == 400
        assert await r.client.closed() == b""
        assert await r.reason() == "the client goes on after its answer"


async def test_a_client_that_asks_before_it_sends_is_refused_before_it_sends(certificate: Certificate) -> None:
    async with rig(certificate) as r:
        r.client.ask("/endpoints/-/invocations", b"", "Expect: 100-continue", length=5)
        assert (await r.client.answer())[0] == 400


async def test_a_client_that_asks_before_it_sends_is_told_to(certificate: Certificate) -> None:
    async with rig(certificate) as r:
        r.container.answers(response(200, b"ok"))
        r.client.ask(INVOKE, b"", "Expect: 100-continue", length=5)
        assert (await r.client.head())[0] == 100
        r.client.writer.write(b"hello")
        assert (await r.client.answer())[2] == b"ok"
        assert r.container.asked[0].body == b"hello"


async def test_a_client_that_goes_away_takes_the_container_with_it(certificate: Certificate) -> None:
    async with rig(certificate) as r:
        r.container.script = r.container.waits
        r.client.ask()
        await eventually(lambda: len(r.container.asked) > 0)
        r.client.writer.transport.abort()
        await asyncio.wait_for(r.container.left.wait(), 5)


async def test_what_is_no_http_is_refused_and_the_connection_closed(certificate: Certificate) -> None:
    async with rig(certificate) as r:
        r.client.writer.write(b"\x00\x01\r\n\r\n")
        assert (await r.client.closed()).startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize(
    ("timings", "sent", "reason"),
    [
        (replace(TIMINGS, request_timeout_s=0.1), b"", "no request came"),
        (replace(TIMINGS, request_timeout_s=0.1), b"POST /x HTTP/1.1\r\n", "no request came"),
    ],
)
async def test_a_client_that_asks_nothing_is_cut_off(
    certificate: Certificate, timings: Timings, sent: bytes, reason: str
) -> None:
    async with rig(certificate, timings) as r:
        r.client.writer.write(sent)
        assert await r.client.closed() == b""
        assert await r.reason() == reason


@pytest.mark.parametrize(
    ("timings", "sent", "reason"),
    [
        (replace(TIMINGS, idle_timeout_s=0.1), b"", "idle"),
        (replace(TIMINGS, request_timeout_s=0.1), b"POST /x", "no request came"),
    ],
)
async def test_a_client_that_asks_no_more_is_cut_off(
    certificate: Certificate, timings: Timings, sent: bytes, reason: str
) -> None:
    async with rig(certificate, timings) as r:
        r.container.answers(response(200, b"ok"))
        r.client.ask()
        await r.client.answer()
        r.client.writer.write(sent)
        assert await r.client.closed() == b""
        assert await r.reason() == reason


async def test_a_connection_is_not_idle_while_it_is_answered(certificate: Certificate) -> None:
    async with rig(certificate, replace(TIMINGS, idle_timeout_s=0.05, request_timeout_s=0.05)) as r:

        async def script(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await asyncio.sleep(0.3)
            writer.write(response(200, b"late"))

        r.container.script = script
        r.client.ask()
        assert (await r.client.answer())[2] == b"late"


async def test_a_runtime_that_stops_answers_what_it_was_asked(certificate: Certificate) -> None:
    async with rig(certificate) as r:
        r.container.script = r.container.waits
        r.client.ask()
        await eventually(lambda: len(r.container.asked) > 0)
        for connection in r.runtime._connections:
            connection.stop()
        status, headers, _ = await r.client.answer()
        assert (status, headers["x-amzn-errortype"]) == (503, "ServiceUnavailable")
        assert await r.client.closed() == b""


@pytest.mark.parametrize("target", [INVOKE, STREAM])
async def test_invocations_come_over_http2_as_well(certificate: Certificate, target: str) -> None:
    async with rig(certificate) as r:
        r.container.answers(response(200, bytes(2**20), content_type="audio/pcm"))
        context = ssl.create_default_context(cafile=str(certificate.authority))
        async with httpx.AsyncClient(http1=False, http2=True, verify=context, trust_env=False) as client:
            answer = await client.post(f"https://127.0.0.1:{r.port}{target}", content=bytes(2**20))
        assert (answer.status_code, answer.http_version) == (200, "HTTP/2")
        assert len(r.container.asked[0].body) == 2**20
        events = Decoder().feed(answer.content) if target is STREAM else [Message({}, answer.content)]
        assert b"".join(event.payload for event in events) == bytes(2**20)
