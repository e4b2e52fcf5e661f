"""Beginning and end of the server's process, here on the test's own loop; as a process of its own in tests/cli."""

import asyncio
import json
import os
import signal
import socket
import time
from pathlib import Path

import httpx
import pytest
from tests.server.driving import (
    DONE,
    STREAMED,
    closed,
    config,
    opened,
    read_until,
    send,
    served,
    settings,
    shut,
    text,
    until,
)

from antiphon.engines.contract import EngineError
from antiphon.engines.tone import ToneEngine, tone_pcm
from antiphon.server import state as states
from antiphon.server.app import create_app
from antiphon.server.runner import ServeError, listen, serve
from antiphon.testing.engines import GatedEngine

pytestmark = pytest.mark.anyio

SENTENCE = "A sentence of some length, for a test."
SHUTDOWN = (1001, "server is shutting down")
CUT_OFF = (1012, "server is shutting down and could not wait")


async def test_a_port_in_use_is_said_with_what_to_do() -> None:
    with listen(settings()) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ServeError, match=rf"cannot listen on 127\.0\.0\.1 port {port}: .*--port"):
            listen(settings(port=port))


async def test_an_address_that_is_not_here_is_said() -> None:
    with pytest.raises(ServeError, match=r"cannot listen on 192\.0\.2\.1 "):
        listen(settings(host="192.0.2.1"))


async def test_it_listens_on_ipv6_where_there_is_any() -> None:
    try:
        sock = listen(settings(host="::1"))
    except ServeError:
        pytest.skip("no IPv6 here")
    with sock:
        assert sock.family is socket.AF_INET6


async def test_the_ready_file_comes_with_the_first_word_and_says_where(tmp_path: Path) -> None:
    engine = GatedEngine()
    ready = tmp_path / "ready"
    ready.write_text("of an earlier server")
    sock = listen(settings())
    running = asyncio.create_task(serve(create_app(settings(), engine), sock, ready))
    await until(lambda: engine.steps_started)
    assert not ready.exists()
    engine.open()
    await until(ready.exists)
    assert json.loads(ready.read_text()) == {
        "url": f"http://127.0.0.1:{sock.getsockname()[1]}",
        "pid": os.getpid(),
    }
    assert names_in(tmp_path) == ["ready"]
    signal.raise_signal(signal.SIGINT)
    async with asyncio.timeout(10):
        await running


def names_in(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


async def test_a_ready_file_that_cannot_be_written_ends_the_server(tmp_path: Path) -> None:
    app = create_app(settings(), ToneEngine())
    with pytest.raises(ServeError, match="cannot write the ready file"):
        async with asyncio.timeout(10):
            await serve(app, listen(settings()), tmp_path / "nowhere" / "ready")
    assert not app.state.server.speaker.ready

    engine = GatedEngine()
    folder = tmp_path / "folder"
    folder.mkdir()
    running = asyncio.create_task(serve(create_app(settings(), engine), listen(settings()), folder / "ready"))
    await until(lambda: engine.steps_started)
    folder.rmdir()
    engine.open()
    with pytest.raises(ServeError, match="cannot write the ready file"):
        async with asyncio.timeout(10):
            await running


async def test_an_engine_that_cannot_speak_ends_the_server() -> None:
    class Unwilling(ToneEngine):
        def load(self) -> None:
            raise EngineError("no weights; reinstall")

    app = create_app(settings(), Unwilling())
    with pytest.raises(ServeError, match="no weights; reinstall"):
        async with asyncio.timeout(10):
            await serve(app, listen(settings()))


async def test_an_idle_session_is_closed_at_once_when_the_server_ends() -> None:
    async with served() as server, server.dial() as client:
        await send(client, config())
        signal.raise_signal(signal.SIGTERM)
        begun = time.monotonic()
        assert await closed(client) == SHUTDOWN
        await server.running
        assert time.monotonic() - begun < 2


async def test_an_open_utterance_is_completed_before_the_server_ends() -> None:
    engine = opened(GatedEngine())
    async with served(engine) as server, server.dial() as client, httpx.AsyncClient() as http:
        shut(engine)
        await send(client, config(**STREAMED), text(SENTENCE), DONE)
        await until(lambda: engine.steps_started == 1)
        signal.raise_signal(signal.SIGTERM)
        # Meanwhile it says that it is ending, and serves nobody new.
        await until(lambda: server.state.draining)
        assert (await http.get(f"{server.http}/ping")).status_code == 503
        with pytest.raises(Exception, match="HTTP 503"):
            await server.dial()
        assert not server.running.done()
        engine.open()
        messages = await read_until(client, "session.done")
        assert b"".join(message for message in messages if isinstance(message, bytes)) == tone_pcm(SENTENCE)
        assert await closed(client) == SHUTDOWN
        await server.running


@pytest.mark.parametrize("fields", [{}, {"stream_format": "audio"}], ids=["whole", "stream"])
async def test_a_request_is_answered_before_the_server_ends(fields: dict[str, str]) -> None:
    engine = opened(GatedEngine())
    async with served(engine) as server, httpx.AsyncClient() as http:
        shut(engine)
        body = {"input": SENTENCE, "response_format": "pcm", **fields}
        answer = asyncio.create_task(http.post(f"{server.http}/v1/audio/speech", json=body))
        await until(lambda: engine.steps_started == 1)
        signal.raise_signal(signal.SIGTERM)
        await asyncio.sleep(1.5)  # longer than what uvicorn leaves to open connections
        assert not server.running.done()
        engine.open()
        assert (await answer).content == tone_pcm(SENTENCE)
        await server.running


async def test_a_file_reaches_a_slow_reader_whole_before_the_server_ends() -> None:
    """The kernels' buffers hold less than 163 s of audio; the rest is still here when the signal comes."""
    async with served() as server:
        host, _, port = server.host.partition(":")
        reader, writer = await asyncio.open_connection(host, int(port), limit=1024)
        body = json.dumps({"input": "long " * 600, "response_format": "pcm"}).encode()
        writer.write(b"POST /v1/audio/speech HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n")
        writer.write(f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        length = int(head.partition(b"content-length: ")[2].split()[0])
        signal.raise_signal(signal.SIGTERM)
        await asyncio.sleep(1.5)  # longer than what uvicorn leaves to open connections
        assert not server.running.done()
        assert len(await reader.readexactly(length)) == length > 7_000_000
        writer.close()
        await server.running


async def test_what_is_not_done_in_time_is_closed_with_code_and_reason() -> None:
    engine = opened(GatedEngine())
    async with served(engine, drain_timeout_s=0.2) as server, server.dial() as client:
        shut(engine)
        await send(client, config(**STREAMED), text(SENTENCE), DONE)
        await until(lambda: engine.steps_started == 1)
        signal.raise_signal(signal.SIGTERM)
        assert await closed(client) == CUT_OFF
        async with asyncio.timeout(5):
            await server.running
        assert engine.steps_started == 1


async def test_an_utterance_that_is_not_complete_holds_the_end_up_for_the_drain_timeout_only() -> None:
    async with served(drain_timeout_s=0.2) as server, server.dial() as client:
        await send(client, config(**STREAMED), text("No end of this"))
        await until(lambda: server.state.sessions)
        await asyncio.sleep(0.05)
        signal.raise_signal(signal.SIGTERM)
        assert await closed(client) == CUT_OFF
        await server.running


async def test_a_second_signal_ends_the_server_at_once() -> None:
    engine = opened(GatedEngine())
    async with served(engine, drain_timeout_s=60) as server, server.dial() as client:
        shut(engine)
        await send(client, config(**STREAMED), text(SENTENCE), DONE)
        await until(lambda: engine.steps_started == 1)
        signal.raise_signal(signal.SIGTERM)
        await until(lambda: server.state.draining)
        signal.raise_signal(signal.SIGTERM)
        begun = time.monotonic()
        async with asyncio.timeout(5):
            await server.running
        assert time.monotonic() - begun < 2
        assert await closed(client) == CUT_OFF


async def test_a_deaf_session_cannot_hold_up_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(states, "CLOSING_TIME_S", 0.1)
    async with served(drain_timeout_s=0.1) as server, server.dial(max_queue=1) as client:
        await send(client, config(**STREAMED, split_granularity="sentence"), text(f"{SENTENCE} " * 300), DONE)
        client.transport.pause_reading()
        await asyncio.sleep(0.5)
        signal.raise_signal(signal.SIGTERM)
        begun = time.monotonic()
        async with asyncio.timeout(10):
            await server.running
        assert time.monotonic() - begun < 4
        client.transport.abort()
