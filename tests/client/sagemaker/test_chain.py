"""The client's promises over the whole chain: AWS SDK, HTTP/2, a local SageMaker, a server.

Also run with old versions of the AWS SDK, each in an environment of its own: `tests/compat/test_aws_sdks.py`. There the
local SageMaker is another environment's, named by ``ANTIPHON_TEST_CHAIN``.
"""

import asyncio
import json
import os
import subprocess
import sys
import time
import wave
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.client.listening import SENTENCES, STORY, audio, heard

import antiphon
from antiphon.client.errors import ConnectError, ConnectionLostError, GenerationError, VoiceClosedError
from antiphon.client.events import Audio, Event, Finished, UnitStarted
from antiphon.client.sagemaker import clients, transport
from antiphon.client.voice import Voice

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("no_task_is_left")]

CHAIN_VARIABLE = "ANTIPHON_TEST_CHAIN"
TARGET = "sagemaker://qwen3-tts"


@dataclass(frozen=True, slots=True)
class Chain:
    """A local SageMaker.

    Attributes:
        environ: the variables that lead to it.
        port: where it listens.
        event_log: what it has seen.
    """

    environ: dict[str, str]
    port: int
    event_log: Path

    def count(self, event: str) -> int:
        return self.event_log.read_text(encoding="utf-8").count(f'"event":"{event}"')


@pytest.fixture(scope="module")
def running() -> Iterator[Chain]:
    if CHAIN_VARIABLE in os.environ:
        given = json.loads(os.environ[CHAIN_VARIABLE])
        yield Chain(given["environ"], given["port"], Path(given["event_log"]))
        return
    from antiphon.testing import LocalSageMaker  # noqa: PLC0415 - an environment without servers has not what it needs

    with LocalSageMaker() as local:
        yield Chain(dict(local.environ), int(local.endpoint_url.rsplit(":", 1)[1]), local.event_log)


@pytest.fixture
def chain(running: Chain, aws: pytest.MonkeyPatch) -> Chain:
    for name, value in running.environ.items():
        aws.setenv(name, value)
    return running


@pytest.fixture(autouse=True)
async def nothing_is_left(anyio_backend: str) -> AsyncIterator[None]:
    yield
    assert clients.connections() == []


async def eventually(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not condition():  # noqa: ASYNC110 - it is about another process
            await asyncio.sleep(0.05)


@asynccontextmanager
async def cuttable(port: int) -> AsyncIterator[tuple[int, asyncio.Event]]:
    """A way to `port` that is cut when the event is set."""
    cut = asyncio.Event()

    async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(2**16):
            writer.write(data)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        onward_reader, onward_writer = await asyncio.open_connection("127.0.0.1", port)
        work: list[Coroutine[Any, Any, object]] = [
            carry(reader, onward_writer),
            carry(onward_reader, writer),
            cut.wait(),
        ]
        ways = [asyncio.create_task(way) for way in work]
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        for way in ways:
            way.cancel()
        await asyncio.gather(*ways, return_exceptions=True)
        for end in (writer, onward_writer):
            end.transport.abort()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        try:
            yield server.sockets[0].getsockname()[1], cut
        finally:
            cut.set()


@pytest.mark.usefixtures("chain")
async def test_the_client_and_the_server_understand_each_other() -> None:
    first_sound = asyncio.Event()

    async def tokens() -> AsyncIterator[str]:
        yield SENTENCES[0] + " "
        await first_sound.wait()
        yield f"{SENTENCES[1]} {SENTENCES[2]}"

    async with antiphon.connect(TARGET, voice="vivian", language="English") as voice:
        events: list[Event] = []
        async with asyncio.timeout(20):
            async for event in voice.say(tokens()):
                events.append(event)
                if isinstance(event, Audio):
                    first_sound.set()
        other = await heard(voice.say(STORY, voice="ryan"))
        async for event in voice.say(STORY):
            if isinstance(event, Audio):
                break
        again = await heard(voice.say(STORY, voice="ryan"))
        with pytest.raises(GenerationError, match="Invalid voice 'nobody'"):
            await heard(voice.say(STORY, voice="nobody"))
        last = await heard(voice.say(STORY, voice="ryan"))

    assert [event.text for event in events if isinstance(event, UnitStarted)] == SENTENCES
    assert isinstance(events[-1], Finished)
    assert len(audio(events)) > 24_000
    assert audio(other) == audio(again) == audio(last)


async def test_two_voices_share_one_connection(chain: Chain) -> None:
    connections, sidecars = chain.count("connection.opened"), chain.count("sidecar.opened")
    async with antiphon.connect(TARGET, voice="vivian") as one, antiphon.connect(TARGET, voice="ryan") as other:
        both = await asyncio.gather(heard(one.say(STORY)), heard(other.say(STORY)))
    await eventually(lambda: chain.count("sidecar.opened") == sidecars + 2)
    assert all(isinstance(events[-1], Finished) for events in both)
    assert chain.count("connection.opened") == connections + 1


@pytest.mark.usefixtures("chain")
async def test_a_voice_that_is_silent_closes_at_once() -> None:
    voice = await antiphon.connect(TARGET, voice="vivian")
    await heard(voice.say(STORY))
    began = time.monotonic()
    await voice.aclose()
    assert time.monotonic() - began < transport.CLOSE_TIMEOUT_S / 2


async def test_a_connection_that_is_cut_is_heard_of(chain: Chain) -> None:
    async with cuttable(chain.port) as (port, cut):
        events: list[Event] = []
        async with antiphon.connect(f"{TARGET}?endpoint_url=https://127.0.0.1:{port}", voice="vivian") as voice:
            utterance = voice.utterance()
            await utterance.write(f"{SENTENCES[0]} Not yet")
            with pytest.raises(ConnectionLostError) as caught:  # noqa: PT012 - it comes while listening
                async for event in utterance:
                    events.append(event)
                    if isinstance(event, Audio):
                        cut.set()
    assert events
    assert caught.value.code == 1006
    assert caught.value.retryable
    async with antiphon.connect(TARGET, voice="vivian") as voice:
        assert isinstance((await heard(voice.say(STORY)))[-1], Finished)


@pytest.mark.usefixtures("chain")
async def test_cancelled_anywhere_nothing_hangs() -> None:
    async def speak() -> None:
        async with antiphon.connect(TARGET, voice="vivian") as voice:
            await heard(voice.say(STORY))

    for delay_s in [0.0, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.08, 0.12, 0.2]:
        task = asyncio.create_task(speak())
        await asyncio.wait({task}, timeout=delay_s)
        task.cancel()
        await asyncio.wait({task}, timeout=10)
        assert task.done()


@pytest.mark.usefixtures("chain")
async def test_a_voice_may_be_closed_while_it_speaks() -> None:
    voice: Voice = await antiphon.connect(TARGET, voice="vivian")
    listening = asyncio.create_task(heard(voice.say(STORY * 20)))
    await asyncio.sleep(0.1)
    began = time.monotonic()
    await voice.aclose()
    assert time.monotonic() - began < 5
    with pytest.raises(VoiceClosedError):
        await listening


@pytest.mark.parametrize(
    ("target", "variable", "said", "retryable"),
    [
        ("sagemaker://nobody", None, "nobody", False),
        (f"{TARGET}?path=v1/nothing", None, "HTTP 424 ModelError", True),
        (f"{TARGET}?region=mars-north-1", None, "HTTP 403", False),
        (TARGET, "AWS_SECRET_ACCESS_KEY", "HTTP 403", False),
        (TARGET, "AWS_ACCESS_KEY_ID", "HTTP 403", False),
    ],
)
async def test_a_refusal_is_told_at_once(  # noqa: PLR0917 - as many parameters as the table has columns
    chain: Chain, aws: pytest.MonkeyPatch, target: str, variable: str | None, said: str, retryable: bool
) -> None:
    if variable is not None:
        aws.setenv(variable, "wrong")
    began = time.monotonic()
    with pytest.raises(ConnectError) as caught:
        await antiphon.connect(target)

    assert time.monotonic() - began < 5
    assert said in str(caught.value)
    assert caught.value.retryable is retryable


@pytest.mark.skipif(CHAIN_VARIABLE in os.environ, reason="this environment has no command line")
def test_the_command_speaks_through_it(chain: Chain, tmp_path: Path) -> None:
    spoken = tmp_path / "spoken.wav"
    command = [sys.executable, "-m", "antiphon", "say", "Hello there.", "--to", TARGET, "-o", str(spoken)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)

    assert done.returncode == 0, done.stderr
    with wave.open(str(spoken)) as audio_file:
        assert audio_file.getnframes() > 2400
