"""What the way through the AWS SDK, HTTP/2, the runtime and the sidecar adds to the first chunk of a unit.

One server hums the tone, in chunks that come as playback needs them. It is spoken to over WebSocket and through the
local SageMaker in turn, over streams that are open already, with two ways of writing: a unit's text at once, and token
by token, back to back, which is where a delayed acknowledgement would show. How long opening takes is shown apart.
Server, local SageMaker and client are processes of their own.
"""

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from benchmarks._chain import TARGET, emulating
from benchmarks._report import Options, Report, note, parse_options, quantile
from benchmarks._server import serving

from antiphon.client.targets import ConnectOptions, open_transport
from antiphon.client.transport import Transport

P50_BAR_MS, P95_BAR_MS = 4.0, 8.0
TEXT = "It is about ten."  # 16 characters of 60 ms: six chunks
CHUNK_MS = 160
CONFIG = {"type": "session.config", "response_format": "pcm", "stream_audio": True, "split_granularity": "none"}

type Writing = Callable[[str], list[str]]


def at_once(text: str) -> list[str]:
    """Write it in one message."""
    return [text]


def by_token(text: str) -> list[str]:
    """Write it in small messages, none of which waits for anything."""
    return [text[at : at + 2] for at in range(0, len(text), 2)]


WRITINGS: dict[str, Writing] = {"at once": at_once, "tokens, back to back": by_token}


def main(options: Options) -> int:
    """Measure both writings over both ways."""
    report = Report("The chain against a WebSocket, same server", options)
    flags = ("--engine", "tone", "--chunk-ms", str(CHUNK_MS), "--pace", "listener", "--max-lead-ms", "320")
    with serving(*flags) as server, emulating(server.target):
        targets = {"WebSocket": server.target, "chain": TARGET}
        asyncio.run(_opening(report, targets, rounds=options.times(30, 3)))
        asyncio.run(_first_chunks(report, targets, rounds=options.times(150, 5)))
    return report.finish()


async def _opening(report: Report, targets: dict[str, str], rounds: int) -> None:
    note(f"opening: {rounds} rounds …")
    took: dict[str, list[float]] = {name: [] for name in targets}
    # One stays open, so that the chain's streams share a connection, as they do in use.
    async with _open(targets["chain"]):
        for _ in range(rounds):
            for name, target in targets.items():
                started = time.perf_counter()
                async with _open(target):
                    took[name].append((time.perf_counter() - started) * 1000)
    for name, times in took.items():
        report.row("Opening", way=name, n=len(times), p50_ms=quantile(times, 0.5), p95_ms=quantile(times, 0.95))


async def _first_chunks(report: Report, targets: dict[str, str], rounds: int) -> None:
    note(f"first chunk: {rounds} rounds of {len(WRITINGS)} ways to write …")
    took: dict[tuple[str, str], list[float]] = {(how, way): [] for how in WRITINGS for way in targets}
    async with _open(targets["WebSocket"]) as direct, _open(targets["chain"]) as chain:
        transports = {"WebSocket": direct, "chain": chain}
        for transport in transports.values():
            await transport.send(json.dumps(CONFIG))
        for measured in (False, *[True] * rounds):
            for (how, way), times in took.items():
                first_s = await _first_chunk(transports[way], WRITINGS[how](TEXT))
                if measured:
                    times.append(first_s * 1000)
    for (how, way), times in took.items():
        report.row(
            "First chunk", written=how, way=way, n=len(times), p50_ms=quantile(times, 0.5), p95_ms=quantile(times, 0.95)
        )
    for how in WRITINGS:
        for share, bar_ms in ((0.5, P50_BAR_MS), (0.95, P95_BAR_MS)):
            added_ms = quantile(took[how, "chain"], share) - quantile(took[how, "WebSocket"], share)
            report.bar(f"first chunk, {how}, added by the chain, p{share * 100:g}", added_ms, bar_ms, "ms")


async def _first_chunk(transport: Transport, tokens: list[str]) -> float:
    """Speak a unit to its end; return when its first chunk came."""
    first_s: float | None = None
    started = time.perf_counter()
    for token in tokens:
        await transport.send(json.dumps({"type": "input.text", "text": token}))
    await transport.send('{"type": "input.done"}')
    while True:
        message = await transport.receive()
        if isinstance(message, bytes):
            if first_s is None:
                first_s = time.perf_counter() - started
        elif json.loads(message)["type"] == "session.done":
            assert first_s is not None
            return first_s
        else:
            assert json.loads(message)["type"] != "error", message


@asynccontextmanager
async def _open(target: str) -> AsyncIterator[Transport]:
    transport = await open_transport(target, ConnectOptions())
    try:
        yield transport
    finally:
        await transport.close()


if __name__ == "__main__":
    sys.exit(main(parse_options(__doc__)))
