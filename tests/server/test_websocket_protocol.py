"""Clients that speak WebSocket, but not to be served."""

import asyncio
import base64
import json
import logging
import socket
import struct

import pytest
from tests.server.driving import CLOSE, STREAM, Served, closed, config, read_until, send, served, until
from websockets.exceptions import InvalidStatus

from antiphon.server.websocket_protocol import MAX_FRAGMENTS, READ_BYTES, BoundedWebSocket

pytestmark = pytest.mark.anyio

HIGH_WATER_BYTES = 64 * 1024
PING_BYTES = 125


@pytest.fixture
def protocols(monkeypatch: pytest.MonkeyPatch) -> list[BoundedWebSocket]:
    """The server's end of every WebSocket, in order."""
    made: list[BoundedWebSocket] = []
    before = BoundedWebSocket.connection_made

    def connection_made(self: BoundedWebSocket, transport: asyncio.BaseTransport) -> None:
        made.append(self)
        before(self, transport)

    monkeypatch.setattr(BoundedWebSocket, "connection_made", connection_made)
    return made


async def shake_hands(server: Served) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A client whose buffers are small, and that reads only when it is told to."""
    host, _, port = server.host.partition(":")
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    sock.connect((host, int(port)))
    reader, writer = await asyncio.open_connection(sock=sock, limit=4096)
    key = base64.b64encode(bytes(16)).decode()
    writer.write(
        f"GET {STREAM} HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n".encode()
    )
    assert b" 101 " in await reader.readuntil(b"\r\n\r\n")
    return reader, writer


def ping(number: int) -> bytes:
    """A ping whose mask is zero, so that its payload is as it is."""
    return bytes([0x89, 0x80 | PING_BYTES]) + bytes(4) + struct.pack(f">I{PING_BYTES - 4}x", number)


def pong(number: int) -> bytes:
    return bytes([0x8A, PING_BYTES]) + struct.pack(f">I{PING_BYTES - 4}x", number)


async def test_pongs_that_a_client_does_not_read_do_not_pile_up(protocols: list[BoundedWebSocket]) -> None:
    async with served() as server, asyncio.timeout(20):
        reader, writer = await shake_hands(server)
        transport = protocols[0].transport
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        last = 20_000
        writer.write(b"".join(map(ping, range(last + 1))))
        await until(lambda: protocols[0]._late_pong == pong(last))
        assert transport.get_write_buffer_size() < HIGH_WATER_BYTES + 3 * READ_BYTES
        # Answered are those until nothing more could be sent, and the latest.
        answered = len(pong(0))
        assert await reader.readexactly(2 * answered) == pong(0) + pong(1)
        answers = 2
        while await reader.readexactly(answered) != pong(last):
            answers += 1
        assert answers < last / 2
        writer.close()


async def test_a_ping_is_answered_at_once_and_while_a_close_is_under_way_not_at_all() -> None:
    async with served() as server, server.dial() as client:
        await send(client, config())
        await (await client.ping("there?"))
    async with served() as server, asyncio.timeout(5):
        reader, writer = await shake_hands(server)
        # An empty binary message closes with 1003; the server then waits for the client's close.
        writer.write(bytes([0x82, 0x80]) + bytes(4))
        await reader.readuntil(b"binary frames are not accepted")
        writer.write(ping(1) * 10 + bytes([0x88, 0x80]) + bytes(4))
        assert await reader.read() == b""
        writer.close()


async def test_a_message_has_a_bounded_number_of_fragments() -> None:
    whole = json.dumps(config())
    async with served() as server, server.dial() as client:
        # A last, empty fragment ends the message.
        await client.send([whole, *[" "] * (MAX_FRAGMENTS - 2)])
        await send(client, CLOSE)
        assert await closed(client) == (1000, "session.close")
    async with served() as server, server.dial() as client:
        await client.send([whole, *[""] * (MAX_FRAGMENTS - 1)])
        assert await closed(client) == (1009, f"a message has at most {MAX_FRAGMENTS} fragments")


async def test_little_is_parsed_at_once_so_that_others_have_their_turn(
    protocols: list[BoundedWebSocket], monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed: list[int] = []
    before = BoundedWebSocket.data_received

    def data_received(self: BoundedWebSocket, data: bytes) -> None:
        parsed.append(len(data))
        before(self, data)

    monkeypatch.setattr(BoundedWebSocket, "data_received", data_received)
    async with served() as server, server.dial() as client:
        await send(client, config(), {"type": "input.text", "text": "x" * 1_000_000}, CLOSE)
        assert await closed(client) == (1000, "session.close")
    assert sum(parsed) > 1_000_000
    assert max(parsed) <= READ_BYTES


async def test_text_that_is_not_utf_8_is_the_client_s_fault(caplog: pytest.LogCaptureFixture) -> None:
    for pieces in (b"\xff", [b"\xc3", b"\xc3"]):
        async with served() as server, server.dial() as client:
            await client.send(pieces, text=True)
            assert await closed(client) == (1007, "a text message is not valid UTF-8")
    async with served() as server, server.dial() as client:
        whole = json.dumps(config(model="é"), ensure_ascii=False).encode()
        middle = whole.index(b"\xc3") + 1
        await client.send([whole[:middle], whole[middle:]], text=True)
        assert "é" in str(await read_until(client, "error"))
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


async def test_a_refused_handshake_is_no_error(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTIPHON_API_KEY", "sesame")
    async with served() as server:
        with pytest.raises(InvalidStatus, match="HTTP 401"):
            await server.dial()
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


async def test_a_close_in_the_same_read_as_what_is_refused_is_no_error(caplog: pytest.LogCaptureFixture) -> None:
    async with served() as server, asyncio.timeout(5):
        reader, writer = await shake_hands(server)
        writer.write(bytes([0x81, 0x81]) + bytes(4) + b"\xff" + bytes([0x88, 0x80]) + bytes(4))
        assert (await reader.read())[:1] == b"\x88"
        writer.close()
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []
