"""Many streams through the AWS SDK, in a process of their own: a token at a time goes in, audio comes out.

    python -m benchmarks._chain_crowd '{"target": …}'

Prints a line once all are open, one in the middle of the time in which all are spoken to, and then what they heard.
"""

import asyncio
import json
import resource
import sys
import time
from dataclasses import asdict, dataclass

from benchmarks._crowd import MS_PER_CHARACTER, speech
from benchmarks._listener import Heard
from benchmarks._sdk_stream import SdkStreams

from antiphon.client.sagemaker import clients
from antiphon.client.targets import ConnectOptions, open_transport
from antiphon.client.transport import Transport

TOKENS_PER_SECOND = 10
TOKEN_CHARACTERS = 4  # of 60 ms: an LLM writes faster than anyone speaks
CONFIG = {"type": "session.config", "response_format": "pcm", "stream_audio": True, "split_granularity": "sentence"}
_OPEN_AT_ONCE = 10


@dataclass(frozen=True, slots=True)
class ChainCrowd:
    """Who listens.

    Attributes:
        target: of each stream.
        streams: how many.
        own_connections: each stream has one; otherwise they share one.
        speaking_s: the time in which all are spoken to.
        spread_s: the time before that in which they begin, evenly.
        buffer_s: of each listener's player.
        plain_sdk: over the SDK's own transport, not Antiphon's.
    """

    target: str
    streams: int
    own_connections: bool
    speaking_s: float
    spread_s: float
    buffer_s: float
    plain_sdk: bool = False


@dataclass(frozen=True, slots=True)
class ChainImpression:
    """What they heard, all together.

    Attributes:
        connections: that carried the streams.
        wall_s: in which this process listened.
        open_ms: what opening each stream took.
        starved: listeners whose player ran dry, or who heard nothing.
        starvation_s: the longest of these times.
        audio_s: seconds of audio, summed.
        sent: messages to the server.
        received: messages from the server.
        errors: a few of the errors there were.
        cpu_s: what this process used while it listened.
    """

    connections: int
    wall_s: float
    open_ms: list[float]
    starved: int
    starvation_s: float
    audio_s: float
    sent: int
    received: int
    errors: list[str]
    cpu_s: float


class Stream:
    """One listener."""

    def __init__(self, transport: Transport, name: int, open_s: float) -> None:
        self.heard = Heard()
        self.open_s = open_s
        self.sent = self.received = 0
        self._transport = transport
        self._name = name

    async def run(self, delay_s: float, length_s: float) -> None:
        """Write and listen, from `delay_s` on, for `length_s`."""
        await asyncio.sleep(delay_s)
        writing = asyncio.create_task(self._write(length_s))
        listening = asyncio.create_task(self._listen())
        await asyncio.wait({writing, listening}, timeout=length_s)
        # Whoever waits at this moment has waited until now.
        self.heard.arrivals.append((asyncio.get_running_loop().time(), 0))
        for task in (writing, listening):
            task.cancel()
        for outcome in await asyncio.gather(writing, listening, return_exceptions=True):
            if isinstance(outcome, Exception):
                self.heard.errors.append(f"{type(outcome).__name__}: {outcome}")

    async def close(self) -> None:
        """End the stream."""
        await self._transport.close()

    async def _write(self, length_s: float) -> None:
        await self._send(CONFIG)
        text = speech(self._name, length_s * TOKENS_PER_SECOND * TOKEN_CHARACTERS * MS_PER_CHARACTER / 1000 * 1.2)
        loop = asyncio.get_running_loop()
        began = loop.time()
        for number, at in enumerate(range(0, len(text), TOKEN_CHARACTERS)):
            await asyncio.sleep(began + number / TOKENS_PER_SECOND - loop.time())
            await self._send({"type": "input.text", "text": text[at : at + TOKEN_CHARACTERS]})

    async def _send(self, message: dict[str, object]) -> None:
        self.sent += 1
        await self._transport.send(json.dumps(message))

    async def _listen(self) -> None:
        clock = asyncio.get_running_loop().time
        while True:
            message = await self._transport.receive()
            self.received += 1
            if isinstance(message, bytes):
                self.heard.arrivals.append((clock(), len(message)))
                continue
            content = json.loads(message)
            if content["type"] == "error":
                self.heard.errors.append(content["message"])


async def listen(crowd: ChainCrowd) -> ChainImpression:
    """Open, listen, and sum up."""
    if crowd.own_connections:
        clients.MAX_STREAMS = 1  # type: ignore[attr-defined]  # no setting: only a benchmark wants that
    streams = await _open(crowd)
    connections = (crowd.streams if crowd.own_connections else 1) if crowd.plain_sdk else len(clients.connections())
    print("open", flush=True)
    cpu_s, began = _cpu_s(), time.monotonic()
    delays = [crowd.spread_s * at / crowd.streams for at in range(crowd.streams)]
    running = [
        asyncio.create_task(stream.run(delay, crowd.speaking_s + crowd.spread_s - delay))
        for stream, delay in zip(streams, delays, strict=True)
    ]
    await asyncio.sleep(crowd.spread_s + crowd.speaking_s / 2)
    print("speaking", flush=True)
    await asyncio.gather(*running)
    cpu_s, wall_s = _cpu_s() - cpu_s, time.monotonic() - began
    await asyncio.gather(*(stream.close() for stream in streams))
    return _sum_up(crowd, streams, connections, wall_s, cpu_s)


async def _open(crowd: ChainCrowd) -> list[Stream]:
    at_once = asyncio.Semaphore(_OPEN_AT_ONCE)
    sdk = SdkStreams(crowd.target.removeprefix("sagemaker://"), own_connections=crowd.own_connections)

    async def connect() -> Transport:
        if crowd.plain_sdk:
            return await sdk.open()
        return await open_transport(crowd.target, ConnectOptions(connect_timeout_s=30))

    async def one(name: int) -> Stream:
        async with at_once:
            began = time.perf_counter()
            return Stream(await connect(), name, time.perf_counter() - began)

    return await asyncio.gather(*map(one, range(crowd.streams)))


def _sum_up(crowd: ChainCrowd, streams: list[Stream], connections: int, wall_s: float, cpu_s: float) -> ChainImpression:
    heard = [stream.heard for stream in streams]
    starvations = [one.starvation_s(crowd.buffer_s) if one.audio_s() else float("inf") for one in heard]
    return ChainImpression(
        connections=connections,
        wall_s=wall_s,
        open_ms=[stream.open_s * 1000 for stream in streams],
        starved=sum(starvation > 1e-6 for starvation in starvations),
        starvation_s=max(starvations),
        audio_s=sum(one.audio_s() for one in heard),
        sent=sum(stream.sent for stream in streams),
        received=sum(stream.received for stream in streams),
        errors=sorted({error for one in heard for error in one.errors})[:5],
        cpu_s=cpu_s,
    )


def _cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    print(json.dumps(asdict(asyncio.run(listen(ChainCrowd(**json.loads(sys.argv[1])))))))
