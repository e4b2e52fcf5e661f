"""The WebSocket route behind a real socket."""

import asyncio
import json
import os
import socket
from contextlib import suppress
from typing import Any

import httpx
import psutil
import pytest
from tests.server.driving import (
    CLOSE,
    DONE,
    STREAM,
    STREAMED,
    Served,
    closed,
    config,
    opened,
    read_until,
    send,
    served,
    shut,
    text,
    until,
)
from websockets.exceptions import ConnectionClosed, InvalidStatus

from antiphon.engines.tone import tone_pcm
from antiphon.server.app import BIDIRECTIONAL
from antiphon.testing.engines import GatedEngine, SlowEngine
from antiphon.text.stock import StockSplitter

pytestmark = pytest.mark.anyio

SENTENCE = "A sentence of some length, for a test."


def audio(messages: list[dict[str, Any] | bytes]) -> bytes:
    return b"".join(message for message in messages if isinstance(message, bytes))


@pytest.mark.parametrize("dialect", ["0.30", "0.26"])
async def test_a_session_in_each_dialect(dialect: str) -> None:
    async with served(dialect=dialect) as server, server.dial() as client:
        await send(client, config(**STREAMED, split_granularity="sentence"), text("One here. Two"), DONE, CLOSE)
        messages = await read_until(client, "session.done")
        assert await closed(client) == (1000, "session.close")
    assert (
        audio(messages)
        == {
            "0.30": tone_pcm("One here.") + tone_pcm("Two"),
            "0.26": tone_pcm("One here. Two"),
        }[dialect]
    )


async def test_sagemakers_own_path_is_the_speech_stream_in_0_30_and_nothing_in_0_26() -> None:
    async with served() as server, server.dial(BIDIRECTIONAL.path) as client:
        await send(client, config(**STREAMED), text("Hm."), DONE)
        assert audio(await read_until(client, "session.done")) == tone_pcm("Hm.")
    async with served(dialect="0.26") as server:
        with pytest.raises(InvalidStatus) as refused:
            await server.dial(BIDIRECTIONAL.path)
        assert refused.value.response.status_code == 403
        async with server.dial():
            pass


async def refusal(server: Served, **options: Any) -> tuple[int, dict[str, Any], Any]:
    with pytest.raises(InvalidStatus) as refused:
        await server.dial(**options)
    response = refused.value.response
    return response.status_code, json.loads(response.body or b"{}"), response.headers


async def test_without_the_key_the_handshake_is_refused(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ANTIPHON_API_KEY", "sesame")
    async with served() as server:
        for headers in ({}, {"Authorization": "Bearer sesam"}):
            status, body, got = await refusal(server, additional_headers=headers)
            assert (status, body) == (401, {"error": "Unauthorized"})
            assert got["WWW-Authenticate"] == "Bearer"
        async with server.dial(additional_headers={"Authorization": "Bearer sesame"}) as client:
            await send(client, config(), CLOSE)
            assert await closed(client) == (1000, "session.close")
    assert "sesame" not in repr(capfd.readouterr())


async def test_one_connection_more_than_may_be_open_is_refused_until_another_is_closed() -> None:
    async with served(max_connections=2) as server, server.dial() as first, server.dial():
        status, body, headers = await refusal(server)
        assert (status, headers["Retry-After"]) == (503, "1")
        assert body["error"]["message"] == "2 connections are open"
        await first.close()
        await until(lambda: len(server.state.sessions) == 1)
        async with server.dial():
            pass
        async with httpx.AsyncClient() as http:
            exposition = (await http.get(f"{server.http}/metrics")).text
        assert 'antiphon_sessions_total{outcome="refused"} 1.0' in exposition


@pytest.mark.parametrize("fields", [STREAMED, {"response_format": "wav"}], ids=["streamed", "whole file"])
@pytest.mark.parametrize("how", ["close", "abort"])
async def test_no_step_starts_after_a_client_went_away(how: str, fields: dict[str, Any]) -> None:
    engine = opened(GatedEngine())
    async with served(engine, workers=1) as server:
        shut(engine)
        engine.release(2)
        async with server.dial() as client:
            await send(client, config(**fields), text(SENTENCE), DONE)
            await until(lambda: engine.steps_started == 3)
            if how == "abort":
                client.transport.abort()
            else:
                await client.close()
        await until(lambda: not server.state.sessions)
        await until(lambda: server.state.speaker.scheduler.statistics().stepping == 0)
        engine.open()
        assert engine.steps_started == 3


async def test_a_client_that_goes_away_far_ahead_of_its_speech_is_noticed() -> None:
    engine = opened(GatedEngine())
    async with served(engine, workers=1) as server:
        shut(engine)
        async with server.dial() as client:
            await send(client, config(response_format="wav"), *[text("Hm."), DONE] * 200)
            await until(lambda: engine.steps_started == 1)
            client.transport.abort()
        await until(lambda: not server.state.sessions)
        await until(lambda: server.state.speaker.scheduler.statistics().stepping == 0)
        engine.open()
        assert engine.steps_started == 1


async def test_a_client_that_never_reads_costs_bounded_memory_and_time() -> None:
    async with served(SlowEngine(0.0, chunk_ms=2000), send_timeout_s=0.3) as server:
        host, _, port = server.host.partition(":")
        raw = socket.socket()
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        raw.connect((host, int(port)))
        async with server.dial(sock=raw, max_queue=1) as client:
            await send(client, config(**STREAMED, split_granularity="sentence"), text(f"{SENTENCE} " * 500), DONE)
            await until(lambda: server.state.speaker.scheduler.statistics().speaking == 1)
            before = server.state.speaker.scheduler.statistics().audio_s
            client.transport.pause_reading()
            await until(lambda: not server.state.sessions, 10)
            # Of 1,140 s: what fits into the kernels' buffers, the server's own, and the read-ahead.
            assert server.state.speaker.scheduler.statistics().audio_s - before < 300
            # The kernel ends what nobody can close, so that no descriptor stays behind.
            await until(lambda: not connections_of(int(port)), 10)
            client.transport.abort()


def connections_of(port: int) -> list[Any]:
    """This process's ends of connections to the server's port, as the server has them."""
    return [
        connection
        for connection in psutil.Process(os.getpid()).net_connections("tcp")
        if connection.laddr.port == port and connection.status != psutil.CONN_LISTEN
    ]


async def test_a_client_that_sends_a_byte_at_a_time_is_told_that_its_time_is_over() -> None:
    async with served(config_timeout_s=0.3) as server:
        host, _, port = server.host.partition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(
            f"GET {STREAM} HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n".encode()
        )
        await reader.readuntil(b"\r\n\r\n")
        frame = b"\x81\xfe\x01\x00" + bytes(4) + b" " * 256
        for byte in frame[:20]:
            writer.write(bytes([byte]))
            await asyncio.sleep(0.02)
        async with asyncio.timeout(5):
            rest = await reader.read(1000)
        assert b"Timeout waiting for session.config" in rest
        assert (1008).to_bytes(2, "big") + b"timeout waiting for session.config" in rest
        writer.close()


async def test_a_flood_of_bad_messages_is_answered_as_fast_as_the_answers_are_taken() -> None:
    async with served() as server, server.dial() as client:
        await send(client, config())
        flood = asyncio.create_task(pour(client, 3000))
        async with asyncio.timeout(10):
            for _ in range(3000):
                assert "Invalid JSON message" in str(await client.recv())
            await flood
        await send(client, CLOSE)
        assert await closed(client) == (1000, "session.close")


async def pour(client: Any, count: int) -> None:
    for _ in range(count):
        await client.send("nonsense")


async def test_a_frame_beyond_every_limit_closes_with_1009() -> None:
    async with served() as server, server.dial() as client:
        with suppress(ConnectionClosed):  # perhaps before all of it was sent
            await client.send("x" * (16 * 1024 * 1024 + 2048))
        code, _ = await closed(client)
        assert code == 1009
        await until(lambda: not server.state.sessions)


async def test_text_that_is_not_utf_8_closes_with_1007() -> None:
    async with served() as server, server.dial() as client:
        await client.send(b"\xff\xfe", text=True)
        code, _ = await closed(client)
        assert code == 1007
        await until(lambda: not server.state.sessions)


@pytest.mark.parametrize(
    ("messages", "code", "reason"),
    [
        (['{"type":"input.text"}'], 1008, "a valid session.config must come first"),
        (["nonsense"], 1008, "a valid session.config must come first"),
        (['{"type":"session.config"}', b"binary"], 1003, "binary frames are not accepted"),
        (['{"type":"session.config"}', '{"type":"session.close"}'], 1000, "session.close"),
        (['{"type":"session.config"}'], 1001, "idle timeout"),
        ([], 1008, "timeout waiting for session.config"),
    ],
)
async def test_every_end_has_a_code_and_a_reason(messages: list[str | bytes], code: int, reason: str) -> None:
    async with served(config_timeout_s=0.2, idle_timeout_s=0.2) as server, server.dial() as client:
        for message in messages:
            await client.send(message)
        assert await closed(client) == (code, reason)


async def test_a_fault_of_ours_closes_with_1011_and_the_server_lives_on(monkeypatch: pytest.MonkeyPatch) -> None:
    async with served() as server:
        with monkeypatch.context() as broken:
            broken.setattr(StockSplitter, "feed", lambda *_: 1 / 0)
            async with server.dial() as client:
                await send(client, config(), text("Hm."))
                assert await closed(client) == (1011, "internal error")
        async with server.dial() as client:
            await send(client, config(**STREAMED), text("Hm."), DONE)
            assert audio(await read_until(client, "session.done")) == tone_pcm("Hm.")


async def test_hundreds_of_sessions_some_aborted_leave_nothing_behind() -> None:
    async with served(max_speaking=1000) as server:
        tasks = len(asyncio.all_tasks())

        async def one(number: int) -> None:
            async with server.dial() as client:
                await send(client, config(**STREAMED), text(SENTENCE), DONE)
                await read_until(client, "audio")
                if number % 3 == 0:
                    client.transport.abort()
                else:
                    await read_until(client, "session.done")

        for begin in range(0, 200, 50):
            await asyncio.gather(*(one(number) for number in range(begin, begin + 50)))
        await until(lambda: not server.state.sessions)
        await until(lambda: len(asyncio.all_tasks()) <= tasks)
        numbers = server.state.speaker.scheduler.statistics()
        assert (numbers.speaking, numbers.stepping, numbers.ready) == (0, 0, 0)
        _, _, port = server.host.partition(":")
        await until(lambda: not [c for c in connections_of(int(port)) if c.status == psutil.CONN_ESTABLISHED])
