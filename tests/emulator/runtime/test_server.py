"""The port: who is let in, for how long, and how it ends."""

import asyncio
import json
import socket
import ssl

import pytest
from h2.errors import ErrorCodes
from hyperframe.frame import PingFrame
from tests.emulator.runtime.driving import Certificate, Rig, eventually, rig
from tests.emulator.runtime.raw_client import raw_client
from websockets.frames import Opcode

from antiphon.emulator.runtime import connection, server
from antiphon.emulator.runtime.timings import Timings
from antiphon.emulator.wire.sigv4 import SigningKeys

pytestmark = pytest.mark.anyio


async def closed_by_the_runtime(reader: asyncio.StreamReader) -> None:
    async with asyncio.timeout(5):
        try:
            while await reader.read(2**16):
                pass
        except ConnectionError:
            pass


async def test_a_tls_handshake_that_never_comes_is_given_up(certificate: Certificate) -> None:
    async with rig(certificate, Timings(tls_timeout_s=0.1)) as it:
        reader, writer = await asyncio.open_connection("127.0.0.1", it.port)
        await closed_by_the_runtime(reader)
        writer.close()
        await it.logged("handshake.failed")
        assert it.runtime._greeting == 0
        await it.stream()


async def test_what_is_no_tls_is_given_up(certificate: Certificate) -> None:
    async with rig(certificate) as it:
        reader, writer = await asyncio.open_connection("127.0.0.1", it.port)
        writer.write(b"GET / HTTP/1.1\r\n\r\n")
        await closed_by_the_runtime(reader)
        writer.close()
        await it.logged("handshake.failed")
        await it.stream()


async def test_connections_are_bounded_before_their_handshake(
    certificate: Certificate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "MAX_CONNECTIONS", 3)
    async with rig(certificate) as it:
        await it.stream()
        waiting = [socket.create_connection(("127.0.0.1", it.port)) for _ in range(2)]
        await eventually(lambda: it.runtime._greeting == 2)
        reader, writer = await asyncio.open_connection("127.0.0.1", it.port)
        await closed_by_the_runtime(reader)
        writer.close()
        for each in waiting:
            each.close()
        await eventually(lambda: it.runtime._greeting == 0)
        async with raw_client(it.port, str(certificate.authority)) as other:
            assert (await other.answered(other.open())).status == 200


@pytest.mark.parametrize("first", [b"", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"])
async def test_a_connection_without_requests_is_closed(certificate: Certificate, first: bytes) -> None:
    async with rig(certificate, Timings(request_timeout_s=0.1)) as it:
        context = ssl.create_default_context(cafile=certificate.authority)
        context.set_alpn_protocols(["h2"])
        reader, writer = await asyncio.open_connection("localhost", it.port, ssl=context)
        writer.write(first)
        await closed_by_the_runtime(reader)
        writer.close()
        assert "no request came" in [event["reason"] for event in await it.logged("connection.closed")]


async def test_a_connection_is_kept_while_it_has_streams_and_for_a_while_after(certificate: Certificate) -> None:
    async with rig(certificate, Timings(request_timeout_s=0.1, idle_timeout_s=0.2)) as it:
        stream, container = await it.stream()
        await asyncio.sleep(0.4)
        container.close(1000)
        await it.client.ended(stream)
        assert it.client.goaway is None
        await it.client.until(lambda: it.client.goaway is not None)
        assert it.client.goaway == ErrorCodes.NO_ERROR
        assert [event["reason"] for event in await it.logged("connection.closed")] == ["idle"]


async def test_a_flood_ends_its_connection_and_no_other(certificate: Certificate) -> None:
    async with rig(certificate) as it:
        async with raw_client(it.port, str(certificate.authority)) as other:
            stream = other.open()
            assert (await other.answered(stream)).status == 200
            container = await it.container.connected()
            other.writer.write(PingFrame(0, b"12345678").serialize() * 5000)
            await other.until(lambda: other.closed)
            assert other.goaway == ErrorCodes.ENHANCE_YOUR_CALM
            assert (await container.frame()).opcode is Opcode.CLOSE
        await it.stream()


async def test_a_client_that_leaves_too_much_unread_is_cut_off(
    certificate: Certificate, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What bodies make wait is bounded before; the bound is for what the protocol itself has to say.
    monkeypatch.setattr(connection, "MAX_UNREAD_BYTES", 2**16)
    async with rig(certificate) as it:
        stream, container = await it.stream()
        it.client.h2.increment_flow_control_window(2**30, stream)
        it.client.flush()
        it.client.writer.transport.pause_reading()  # type: ignore[attr-defined] # a transport for both directions
        container.send(Opcode.BINARY, bytes(15 * 2**20))
        closed = await it.logged("connection.closed")
        assert [event["reason"] for event in closed] == ["the client does not read"]


async def test_stopping_ends_streams_says_goodbye_and_closes_the_containers(certificate: Certificate) -> None:
    async with rig(certificate) as it:
        it.container.silent = True
        opening = it.client.open()
        await eventually(lambda: len(it.container.open) == 1)
        it.container.silent = False
        stream, container = await it.stream()
        await it.runtime._end()
        response = await it.client.ended(stream)
        assert response.messages[-1].headers[":exception-type"] == "InternalStreamFailure"
        assert (await it.client.ended(opening)).status == 503
        await it.client.until(lambda: it.client.closed)
        assert it.client.goaway == ErrorCodes.NO_ERROR
        close = await container.frame()
        assert (close.opcode, close.data[:2]) == (Opcode.CLOSE, (1001).to_bytes(2))
        assert (len(it.runtime._connections), len(it.runtime._sidecars)) == (0, 0)


async def test_stopping_does_not_wait_for_a_client_that_does_not_read(certificate: Certificate) -> None:
    async with rig(certificate, Timings(stop_timeout_s=0.1)) as it:
        await it.stream()
        it.client.writer.transport.pause_reading()  # type: ignore[attr-defined] # a transport for both directions
        async with asyncio.timeout(5):
            await it.runtime._end()
        assert len(it.runtime._connections) == 0


async def test_stopping_does_not_wait_for_a_container_that_does_not_answer(certificate: Certificate) -> None:
    async with rig(certificate, Timings(close_timeout_s=0.1)) as it:
        _, container = await it.stream()
        container.pause()
        async with asyncio.timeout(5):
            await it.runtime._end()
        assert len(it.runtime._sidecars) == 0


async def test_as_many_streams_as_a_connection_may_have(certificate: Certificate) -> None:
    async with rig(certificate) as it:
        await it.stream()
        streams = [it.client.open() for _ in range(255)]
        for stream in streams:
            assert (await it.client.answered(stream)).status == 200
            (await it.container.connected()).send(Opcode.TEXT, b"hello")
        await it.client.until(lambda: all(it.client.responses[stream].body for stream in streams))


async def test_http1_is_spoken_but_not_for_bidirectional_streams(certificate: Certificate) -> None:
    async with rig(certificate) as it:
        context = ssl.create_default_context(cafile=certificate.authority)
        context.set_alpn_protocols(["http/1.1"])
        reader, writer = await asyncio.open_connection("localhost", it.port, ssl=context)
        path = "/endpoints/ep/invocations-bidirectional-stream"
        writer.write(f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n".encode())
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 400 ")
        assert b"x-amzn-errortype: InputValidationError" in head
        writer.close()
        await writer.wait_closed()


async def test_who_is_not_known_gets_in_nowhere(certificate: Certificate) -> None:
    async with rig(certificate, keys=SigningKeys({"AK": "secret"}, "us-east-1")) as it:
        response = await _refused(it)
        assert response["x-amzn-errortype"] == "MissingAuthenticationTokenException"
        assert not it.container.open


async def _refused(it: Rig) -> dict[str, str]:
    stream = it.client.open()
    response = await it.client.ended(stream)
    assert response.status == 403
    assert json.loads(response.body)["Message"]
    return response.headers


async def test_nagles_algorithm_is_off_on_both_sides(certificate: Certificate) -> None:
    async with rig(certificate) as it:
        await it.stream()
        (sidecar,) = it.runtime._sidecars
        for transport in (it.connection._transport, sidecar._transport):
            assert transport is not None
            assert transport.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
