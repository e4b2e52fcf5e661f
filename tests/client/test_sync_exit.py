"""Programs that end with a voice open, or a generator not exhausted: they do end, and say nothing."""

import asyncio
import gc
import logging
import os
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest
from websockets.asyncio.server import ServerConnection, serve

from antiphon.client import sync, targets
from antiphon.client.errors import VoiceClosedError
from antiphon.client.sync import connect
from antiphon.client.targets import ConnectOptions
from antiphon.client.transport import Transport
from antiphon.server.child import child_server
from antiphon.testing.endpoint import FakeEndpoint

TIMEOUT_S = 30

ENDS = {
    "a generator": """
        voice = antiphon.connect_sync(target)
        events = voice.say("Hello there. What?")
        next(events)
    """,
    "a generator that owns its voice": """
        def talk():
            with antiphon.connect_sync(target) as voice:
                yield from voice.say("Hello there. What?")
        events = talk()
        next(events)
    """,
    "a generator in a cycle": """
        class Speaker:
            def __init__(self):
                self.voice = antiphon.connect_sync(target)
                self.events = self.voice.say(word for word in ["Hello there. ", "What?"])
                self.me = self
        next(Speaker().events)
    """,
    "a generator that is closed by a callback at exit": """
        import atexit
        voice = antiphon.connect_sync(target)
        events = voice.say("Hello there. What?")
        atexit.register(events.close)
        next(events)
    """,
    "an exception": """
        voice = antiphon.connect_sync(target)
        events = voice.say("Hello there. What?")
        next(events)
        raise SystemExit(0)
    """,
    "an utterance that nobody ended": """
        utterance = antiphon.connect_sync(target).utterance()
        utterance.write("Hello there. What?")
    """,
}


@pytest.fixture(scope="module", params=["local:tone", "ws:"])
def target(request: pytest.FixtureRequest) -> Iterator[str]:
    if request.param != "ws:":
        yield request.param
        return
    with asyncio.Runner() as runner:
        server = child_server("--engine", "tone")
        yield runner.run(server.__aenter__()).replace("http://127.0.0.1", "ws://localhost", 1)
        runner.run(server.__aexit__(None, None, None))


@pytest.mark.parametrize("end", ENDS)
def test_a_program_ends_with(end: str, target: str) -> None:
    lines = [line.removeprefix(" " * 8) for line in ENDS[end].splitlines()]
    program = "\n".join(["import antiphon", f"target = {target!r}", *lines, "print('the end')"])
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        capture_output=True,
        timeout=TIMEOUT_S,
        check=False,
        env={name: value for name, value in os.environ.items() if not name.startswith("ANTIPHON_")},
    )

    assert result.stderr == b""
    assert result.returncode == 0
    assert result.stdout == (b"" if end == "an exception" else b"the end\n")


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> FakeEndpoint:
    endpoint = FakeEndpoint()

    async def open_fake(_target: str, _options: ConnectOptions) -> Transport:
        return endpoint.connect()

    monkeypatch.setitem(targets._openers, "fake", open_fake)
    return endpoint


def test_garbage_that_is_collected_in_the_voices_own_thread_does_not_make_it_wait_for_itself(
    endpoint: FakeEndpoint,
) -> None:
    def talk() -> Iterator[object]:
        with connect("fake:") as voice:
            threads.append(voice._loop)
            yield from voice.say("Hello there. What?")

    async def collect() -> None:
        cycles.clear()
        gc.collect()

    threads: list[sync._LoopThread] = []
    cycles: list[object] = [talk()]
    next(cycles[0])  # type: ignore[call-overload] # an iterator
    asyncio.run_coroutine_threadsafe(collect(), threads[0]._loop).result(TIMEOUT_S)
    threads[0]._thread.join(TIMEOUT_S)

    assert not threads[0]._thread.is_alive()
    assert endpoint.closed == 1


def test_a_lock_that_is_held_when_garbage_is_collected_may_be_taken_again(endpoint: FakeEndpoint) -> None:
    with connect("fake:") as voice:
        events = voice.say("Hello there. What?")
        next(events)
        with voice._loop._lock:
            events.close()
        assert endpoint.spoken


def test_when_python_ends_nothing_is_waited_for(endpoint: FakeEndpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    voice = connect("fake:")
    events = voice.say("Hello there. What?")
    next(events)
    with monkeypatch.context() as ending:
        ending.setattr(sys, "is_finalizing", lambda: True)
        with pytest.raises(VoiceClosedError):
            voice.utterance()
        events.close()
    voice.close()


def test_the_end_of_a_program_does_not_wait_longer_than_it_may(
    endpoint: FakeEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def block() -> None:
        began.set()
        free.wait(TIMEOUT_S)

    began, free = threading.Event(), threading.Event()
    monkeypatch.setattr(sync, "EXIT_TIMEOUT_S", 0.05)
    voice = connect("fake:")
    blocked = voice._loop.start(block())
    assert began.wait(TIMEOUT_S)
    voice._loop._close_at_exit()

    assert voice._loop._thread.is_alive()
    assert not blocked.done()
    free.set()
    voice.close()
    assert not voice._loop._thread.is_alive()


@pytest.mark.anyio
async def test_the_server_is_told_when_a_program_ends_with_a_voice_open() -> None:
    codes: list[int | None] = []

    async def handler(connection: ServerConnection) -> None:
        await connection.wait_closed()
        codes.append(connection.close_code)

    async with serve(handler, "127.0.0.1", 0, logger=logging.getLogger("tests.server")) as server:
        port = server.sockets[0].getsockname()[1]
        program = f"import antiphon; voice = antiphon.connect_sync('ws://127.0.0.1:{port}')"
        process = await asyncio.create_subprocess_exec(sys.executable, "-c", program)
        async with asyncio.timeout(TIMEOUT_S):
            assert await process.wait() == 0

    assert codes == [1000]
