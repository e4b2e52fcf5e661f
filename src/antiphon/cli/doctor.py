"""`antiphon doctor`: what works on this machine, and what to do about the rest."""

import asyncio
import importlib.metadata
import json
import os
import platform
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Annotated, Literal

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from antiphon.audio.pcm import PcmChunk
from antiphon.cli.failures import ExitCode
from antiphon.client.errors import PlayerError
from antiphon.client.player import PLAYERS, Player, PlayerCommand, find_player
from antiphon.engines.cache import cache_dir
from antiphon.engines.contract import EngineError, EngineInfo, SpeechUnit
from antiphon.engines.registry import create, engine_names
from antiphon.scheduling import Scheduler, speak
from antiphon.server.settings import ServerSettings

DEFAULT_ENGINE: str = ServerSettings.model_fields["engine"].default
TEST_SENTENCE = "This sentence was spoken to see whether everything works."
PACKAGES = ("antiphon", "numpy", "onnxruntime", "hibari-tts", "starlette", "uvicorn", "websockets", "soundfile")
# What the extras bring, each by one package that nothing else brings.
EXTRAS = {
    "emulator": ("h2", "a local SageMaker (antiphon emulate)"),
    "sagemaker": ("aws-sdk-sagemaker-runtime-http2", "speech through SageMaker (sagemaker://ENDPOINT)"),
    "ui": ("gradio", "the page in the browser (antiphon page)"),
}
# Where a command listens unless it is told otherwise.
PORTS = {ServerSettings.model_fields["port"].default: "serve", 8443: "emulate up", 7860: "page"}
SILENCE = PcmChunk(bytes(2400), 24_000)  # 50 ms
SOUND_TIMEOUT_S = 5.0
MARKS = {"ok": "[green]ok[/]", "warning": "[yellow]warning[/]", "failed": "[red]failed[/]"}

type Status = Literal["ok", "warning", "failed"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at.

    Attributes:
        check: what.
        status: `failed` when speech cannot work, `warning` when something is missing that one may do without.
        found: what is there.
        advice: what to do; empty when nothing.
    """

    check: str
    status: Status
    found: str
    advice: str = ""


def doctor(as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """Check Python, engines, sound, ports and versions: what works, and what to do.

    Exit status 1 when speech cannot work here.
    """
    findings: list[Finding] = []
    for check in CHECKS:
        findings.extend(check())
    if as_json:
        print(json.dumps([asdict(finding) for finding in findings], indent=2))
    else:
        _print(findings)
    if any(finding.status == "failed" for finding in findings):
        raise typer.Exit(ExitCode.FAILED)


def _print(findings: list[Finding]) -> None:
    table = Table(box=None, header_style="bold")
    for heading in ("check", "", "found", "what to do"):
        table.add_column(heading, overflow="fold")  # a path or a name that was cut off would be of no use
    for finding in findings:
        table.add_row(finding.check, MARKS[finding.status], escape(finding.found), escape(finding.advice))
    Console().print(table)


def _python() -> Iterator[Finding]:
    found = f"{platform.python_version()} on {platform.system()} {platform.machine()}, {os.cpu_count()} cores"
    enough = sys.version_info >= (3, 12)
    yield Finding("python", "ok" if enough else "failed", found, "" if enough else "install Python 3.12 or newer")


def _versions() -> Iterator[Finding]:
    for package in PACKAGES:
        try:
            yield Finding(package, "ok", importlib.metadata.version(package))
        except importlib.metadata.PackageNotFoundError:
            yield Finding(package, "failed", "not installed", f"pip install {package}")


def _extras() -> Iterator[Finding]:
    for extra, (package, purpose) in EXTRAS.items():
        try:
            yield Finding(f"extra {extra}", "ok", f"{package} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            yield Finding(
                f"extra {extra}", "warning", "not installed", f"for {purpose}: pip install 'antiphon[{extra}]'"
            )


def _engines() -> Iterator[Finding]:
    for name in engine_names():
        try:
            audio_s, took_s, first_s, info = asyncio.run(_try(name))
        except Exception as error:  # noqa: BLE001 - a broken package fails in its own way, and the rest is still looked at
            advice = str(error) if isinstance(error, EngineError) else f"{type(error).__name__}: {error}"
            yield Finding(f"engine {name}", "failed" if name == DEFAULT_ENGINE else "warning", "cannot speak", advice)
            continue
        speed = audio_s / took_s if took_s else float("inf")
        found = f"{info.sample_rate} Hz, {speed:.0f}x real time, first chunk after {first_s * 1000:.0f} ms"
        # Slower than this, speech is not ready before the listener has heard what came before.
        slow = speed < 1.5
        yield Finding(
            f"engine {name}",
            "warning" if slow else "ok",
            found,
            "too slow here for live speech; use a faster machine or another engine" if slow else "",
        )


async def _try(name: str) -> tuple[float, float, float, EngineInfo]:
    """Speak a sentence; return seconds of audio, seconds it took, seconds to the first chunk, and the engine's info."""
    engine = create(name)
    scheduler = Scheduler(engine, workers=1)
    try:
        loaded = engine.load()
        if loaded is not None:
            await loaded
        unit = SpeechUnit(TEST_SENTENCE)
        async for _ in speak(scheduler.listener(), unit):
            pass
        started = time.perf_counter()
        audio_s = first_s = 0.0
        async for chunk in speak(scheduler.listener(), unit):
            first_s = first_s or time.perf_counter() - started
            audio_s += chunk.duration_s
        return audio_s, time.perf_counter() - started, first_s, engine.info
    finally:
        await scheduler.close()


def _sound() -> Iterator[Finding]:
    player = find_player()
    if player is None:
        names = ", ".join(command.program for command in PLAYERS)
        advice = f"for --play, install one of {names}; WAV files work without"
        yield Finding("sound", "warning", "no player", advice)
        return
    try:
        took_s = asyncio.run(_play_silence(player))
    except (PlayerError, TimeoutError) as error:
        said = str(error) or f"it did not end within {SOUND_TIMEOUT_S:g} s"
        yield Finding(
            "sound", "warning", f"{player.program} does not play: {said}", "check the sound device, or use -o"
        )
    else:
        yield Finding("sound", "ok", f"{player.program} played 50 ms of silence in {took_s:.1f} s")


async def _play_silence(command: PlayerCommand) -> float:
    started = time.perf_counter()
    async with asyncio.timeout(SOUND_TIMEOUT_S), Player(command) as player:
        await player.play(SILENCE)
    return time.perf_counter() - started


def _ports() -> Iterator[Finding]:
    for port, command in PORTS.items():
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError as error:
                yield Finding(f"port {port}", "warning", error.strerror or "in use", f"antiphon {command} --port 0")
            else:
                yield Finding(f"port {port}", "ok", "free")


def _cache() -> Iterator[Finding]:
    try:
        folder = cache_dir()
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(4096))
        free_mb = shutil.disk_usage(folder).free // 2**20
    except (OSError, RuntimeError) as error:
        advice = "engines start more slowly; set ANTIPHON_CACHE_DIR to a folder that can be written"
        yield Finding("cache", "warning", f"cannot be written: {error}", advice)
    else:
        yield Finding("cache", "ok", f"{folder}, {free_mb} MB free")


CHECKS: tuple[Callable[[], Iterator[Finding]], ...] = (_python, _versions, _extras, _engines, _sound, _ports, _cache)
