"""Many listeners in a process of their own.

    python -m benchmarks._crowd '{"host": …, …}'

Prints a line once all are connected, one in the middle of the time in which all are spoken to, and then what they
heard, as JSON.
"""

import asyncio
import json
import resource
import sys
from dataclasses import asdict, dataclass

from benchmarks._listener import Heard, Listener, listen_to

_CONNECT_AT_ONCE = 50
MS_PER_CHARACTER = 60  # of the tone
_SENTENCE = "This is what listener {} hears next. "


@dataclass(frozen=True, slots=True)
class Crowd:
    """Who listens.

    Attributes:
        host, port: of the server.
        listeners: how many.
        speaking_s: the time in which all are spoken to.
        spread_s: the time before that in which they begin, evenly.
        chunk_ms: of audio.
        bare: the server is `benchmarks._bare`.
        kept: how many listeners keep their audio, to be compared with the tone.
        buffer_s: of each listener's player.
    """

    host: str
    port: int
    listeners: int
    speaking_s: float
    spread_s: float
    chunk_ms: int
    bare: bool
    kept: int
    buffer_s: float


@dataclass(frozen=True, slots=True)
class Impression:
    """What they heard, all together.

    Attributes:
        starved: listeners whose player ran dry.
        starvation_s: the longest of these times.
        lead_s: the most audio that was ahead of anyone's playback.
        chunk_s: the longest chunk.
        audio_s: seconds of audio, summed.
        inexact: listeners whose audio was compared and is not the tone.
        errors: a few of the errors there were.
        cpu_s: what this process used while it listened.
    """

    starved: int
    starvation_s: float
    lead_s: float
    chunk_s: float
    audio_s: float
    inexact: int
    errors: list[str]
    cpu_s: float


def speech(name: int, length_s: float) -> str:
    """Sentences that take about so long to be hummed."""
    sentence = _SENTENCE.format(name)
    return sentence * round(length_s * 1000 / (len(sentence.strip()) * MS_PER_CHARACTER))


async def listen(crowd: Crowd) -> Impression:
    """Connect, listen, and sum up."""
    listeners = await _connect(crowd)
    print("connected", flush=True)
    cpu_s = _cpu_s()
    loop = asyncio.get_running_loop()
    for at, listener in enumerate(listeners):
        loop.call_later(crowd.spread_s * at / len(listeners), _begin, crowd, at, listener)
    await asyncio.sleep(crowd.spread_s + crowd.speaking_s / 2)
    print("speaking", flush=True)
    await asyncio.gather(*(listener.done for listener in listeners))
    cpu_s = _cpu_s() - cpu_s
    for listener in listeners:
        listener.close()
    return _sum_up(crowd, [listener.heard for listener in listeners], cpu_s)


async def _connect(crowd: Crowd) -> list[Listener]:
    kept = crowd.listeners // crowd.kept if crowd.kept else sys.maxsize
    listeners: list[Listener] = []
    for first in range(0, crowd.listeners, _CONNECT_AT_ONCE):
        batch = range(first, min(first + _CONNECT_AT_ONCE, crowd.listeners))
        opening = (listen_to((crowd.host, crowd.port), keep=at % kept == kept - 1) for at in batch)
        listeners += await asyncio.gather(*opening)
    return listeners


def _begin(crowd: Crowd, name: int, listener: Listener) -> None:
    length_s = crowd.speaking_s + crowd.spread_s
    if crowd.bare:
        listener.send(chunks=round(length_s * 1000 / crowd.chunk_ms), chunk_ms=crowd.chunk_ms)
        return
    listener.send(type="session.config", response_format="pcm", stream_audio=True, split_granularity="sentence")
    listener.send(type="input.text", text=speech(name, length_s))
    listener.send(type="input.done")


def _sum_up(crowd: Crowd, heard: list[Heard], cpu_s: float) -> Impression:
    starvations = [one.starvation_s(crowd.buffer_s) for one in heard]
    errors = sorted({error for one in heard for error in one.errors})
    silent = sum(not one.arrivals for one in heard)
    if silent:
        errors.append(f"{silent} listeners heard nothing")
    return Impression(
        starved=sum(starvation > 1e-6 for starvation in starvations),
        starvation_s=max(starvations),
        lead_s=max(one.lead_s() for one in heard),
        chunk_s=max(one.chunk_s() for one in heard),
        audio_s=sum(one.audio_s() for one in heard),
        inexact=sum(not one.exact() for one in heard if one.pcm and not crowd.bare),
        errors=errors[:5],
        cpu_s=cpu_s,
    )


def _cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    print(json.dumps(asdict(asyncio.run(listen(Crowd(**json.loads(sys.argv[1])))))))
