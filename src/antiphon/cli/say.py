"""`antiphon say`: text from an argument, a file or a pipe, spoken as it arrives."""

import asyncio
import codecs
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

import antiphon
from antiphon.cli.failures import ExitCode, fail, reported
from antiphon.cli.outputs import outputs
from antiphon.client.errors import SpeechError
from antiphon.client.events import Audio, Event, Finished, UnitStarted
from antiphon.client.options import SpeechOptions
from antiphon.client.player import find_player
from antiphon.client.sources import TextSource
from antiphon.client.statistics import Statistics

READ_BYTES = 4096


def say(
    text: Annotated[
        str | None, typer.Argument(help="What to say; without it, or as -, standard input as it arrives.")
    ] = None,
    file: Annotated[Path | None, typer.Option("--file", "-f", help="Say what is in this text file.")] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write a WAV file.")] = None,
    play: Annotated[
        bool | None, typer.Option("--play/--no-play", help="Play it; default when there is no --output.")
    ] = None,
    to: Annotated[
        str, typer.Option("--to", help="Who speaks: local: (this process), local:ENGINE, ws://HOST:PORT, wss://HOST.")
    ] = "local:",
    voice: Annotated[str | None, typer.Option(help="Voice; `antiphon voices` lists them.")] = None,
    language: Annotated[str | None, typer.Option(help="Language, such as English.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the statistics as JSON.")] = False,
) -> None:
    """Say something: the first words are heard while the last are still being written.

    Examples:
        antiphon say 'Hello there.'

        antiphon say -f letter.txt -o letter.wav --voice heart-low

        llm 'Tell me a story' | antiphon say --play

        antiphon say 'Hello there.' --to ws://127.0.0.1:8080 -o hello.wav --json
    """
    source = _source(text, file)
    if play is None:
        play = output is None
    if play and find_player() is None:
        raise fail("no audio player is installed here; write a file with -o FILE, or see: antiphon doctor")
    if not play and output is None:
        raise fail("nothing would be heard: give -o FILE, or leave out --no-play", ExitCode.USAGE)
    options: SpeechOptions = {"voice": voice, "language": language}
    with reported(SpeechError, OSError):
        try:
            statistics = asyncio.run(_say(source, to, output, play=play, options=options, quiet=as_json))
        except KeyboardInterrupt:
            raise typer.Exit(ExitCode.INTERRUPTED) from None
    if as_json:
        print(json.dumps({**asdict(statistics), "real_time_factor": statistics.real_time_factor}))


async def _say(
    source: TextSource, to: str, output: Path | None, *, play: bool, options: SpeechOptions, quiet: bool
) -> Statistics:
    console = Console(stderr=True, quiet=quiet)
    statistics = Statistics()
    async with outputs(output, play=play) as sound, antiphon.connect(to, **options) as voice:
        async for event in voice.say(source):
            if isinstance(event, Audio):
                await sound.take(event)
            elif isinstance(event, Finished):
                statistics = event.statistics
            _tell(console, event)
    _sum_up(console, statistics, output)
    return statistics


def _tell(console: Console, event: Event) -> None:
    if isinstance(event, UnitStarted):
        console.print(event.text, markup=False, highlight=False)


def _sum_up(console: Console, statistics: Statistics, output: Path | None) -> None:
    if not statistics.audio_s:
        console.print("There was nothing to say in that text.")
        return
    where = f" in {output}" if output else ""
    console.print(
        f"[dim]{statistics.audio_s:.1f} s of speech{where}, "
        f"first heard {_ms(statistics.first_audible_s)} after the first text[/dim]"
    )


def _ms(seconds: float | None) -> str:
    return "never" if seconds is None else f"{seconds * 1000:.0f} ms"


def _source(text: str | None, file: Path | None) -> TextSource:
    if text is not None and file is not None:
        raise fail("say either a text or a --file, not both", ExitCode.USAGE)
    if file is not None:
        try:
            return file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise fail(f"cannot read {file}: {error}", ExitCode.USAGE) from None
    if text is not None and text != "-":
        return text
    if sys.stdin.isatty():
        print("Type what to say, then Ctrl-D.", file=sys.stderr)
    return _standard_input()


def _standard_input() -> Iterator[str]:
    """Yield what arrives when it arrives, not line by line."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    while data := os.read(sys.stdin.fileno(), READ_BYTES):
        yield decoder.decode(data)
    yield decoder.decode(b"", final=True)
