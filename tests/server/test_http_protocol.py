"""Connections that do not come to the point."""

import asyncio
import time

import pytest
from tests.server.driving import DONE, STREAMED, config, opened, read_until, send, served, shut, text, until

from antiphon.server import runner
from antiphon.testing.engines import GatedEngine

pytestmark = pytest.mark.anyio

PING = b"GET /ping HTTP/1.1\r\nHost: x\r\n\r\n"
POST = (
    b"POST /v1/audio/speech HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    b'Content-Length: 15\r\n\r\n{"input": "Hm"}'
)


async def dial(host: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    name, _, port = host.partition(":")
    return await asyncio.open_connection(name, int(port))


async def answers(host: str) -> bool:
    reader, writer = await dial(host)
    writer.write(PING)
    head = await reader.readline()
    writer.close()
    return b" 200 " in head


@pytest.mark.parametrize("said", [b"", b"GET /pi", PING[:-2]], ids=["nothing", "half a line", "half a head"])
@pytest.mark.parametrize("before", [b"", PING], ids=["at once", "after a request"])
async def test_who_does_not_ask_in_time_is_hung_up_on(before: bytes, said: bytes) -> None:
    async with served(config_timeout_s=1) as server, asyncio.timeout(5):
        reader, writer = await dial(server.host)
        writer.write(before)
        if before:
            assert b" 200 " in await reader.readuntil(b"\r\n\r\n")
        writer.write(said)
        began = time.monotonic()
        assert await reader.read() == b""
        assert time.monotonic() - began > 0.8
        writer.close()


async def test_trickling_does_not_win_time() -> None:
    async with served(config_timeout_s=1) as server, asyncio.timeout(5):
        reader, writer = await dial(server.host)
        reading = asyncio.create_task(reader.read())
        writer.write(b"GET /ping HTTP/1.1\r\nX: ")
        while not reading.done():
            writer.write(b"x")
            await asyncio.sleep(0.1)
        assert reading.result() == b""
        writer.close()


async def test_who_has_asked_has_all_the_time_that_the_answer_takes() -> None:
    engine = opened(GatedEngine())
    async with served(engine, config_timeout_s=1) as server, server.dial() as client, asyncio.timeout(10):
        shut(engine)
        reader, writer = await dial(server.host)
        writer.write(POST)
        await send(client, config(**STREAMED), text("Hm."), DONE)
        await until(lambda: engine.steps_started == 2)
        await asyncio.sleep(1.5)
        engine.open()
        assert b" 200 " in await reader.readuntil(b"\r\n\r\n")
        await read_until(client, "session.done")
        writer.close()


async def test_one_connection_too_many_is_turned_away_before_it_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "HTTP_CONNECTIONS", 2)
    async with served(max_connections=1) as server, asyncio.timeout(5):
        waiting = [await dial(server.host) for _ in range(3)]
        reader, writer = await dial(server.host)
        assert (await reader.read()).startswith(b"HTTP/1.1 503 ")
        for _, one in [*waiting, (reader, writer)]:
            one.close()
        while not await answers(server.host):
            pass
