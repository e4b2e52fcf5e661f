"""`antiphon say`: text from an argument, a file or a pipe, spoken as it arrives."""

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

import antiphon
from antiphon.cli.engines import check_engine, engine_in, voice_suggestion
from antiphon.cli.failures import ExitCode, fail, reported
from antiphon.cli.outputs import STANDARD_OUTPUT, check_output, outputs
from antiphon.cli.running import run
from antiphon.cli.text_input import standard_input, text_of
from antiphon.cli.words import TARGETS, printable
from antiphon.client.errors import GenerationError, SpeechError
from antiphon.client.events import Audio, Event, Finished, UnitStarted
from antiphon.client.options import SpeechOptions
from antiphon.client.player import find_player
from antiphon.client.sources import TextSource
from antiphon.client.statistics import Statistics


def say(
    text: Annotated[
        str | None, typer.Argument(help="What to say; without it, or as -, standard input as it arrives.")
    ] = None,
    file: Annotated[Path | None, typer.Option("--file", "-f", help="Say what is in this text file.")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write a WAV file; - for standard output.")
    ] = None,
    play: Annotated[
        bool | None, typer.Option("--play/--no-play", help="Play it; default when there is no --output.")
    ] = None,
    to: Annotated[str, typer.Option("--to", help=TARGETS)] = "local:",
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

        antiphon say 'Hello there.' --to 'sagemaker://qwen3-tts?region=us-east-1'
    """
    play = output is None if play is None else play
    _check(to, output, play=play, as_json=as_json)
    source = _source(text, file)
    options: SpeechOptions = {"voice": voice, "language": language}
    with reported(SpeechError, OSError):
        statistics = run(_say(source, to, output, play=play, options=options, quiet=as_json))
    if as_json:
        print(json.dumps({**asdict(statistics), "real_time_factor": statistics.real_time_factor}))
    _sum_up(statistics, None if output == STANDARD_OUTPUT else output, quiet=as_json)


def _check(to: str, output: Path | None, *, play: bool, as_json: bool) -> None:
    """Refuse what cannot end well before anything is loaded."""
    check_output(output)
    if output == STANDARD_OUTPUT and as_json:
        raise fail("standard output takes either the audio or the --json, not both", ExitCode.USAGE)
    if play and find_player() is None:
        raise fail("no audio player is installed here; write a file with -o FILE, or see: antiphon doctor")
    if not play and output is None:
        raise fail("nothing would be heard: give -o FILE, or leave out --no-play", ExitCode.USAGE)
    engine = engine_in(to)
    if engine is not None:
        check_engine(engine)


async def _say(
    source: TextSource, to: str, output: Path | None, *, play: bool, options: SpeechOptions, quiet: bool
) -> Statistics:
    console = Console(stderr=True, quiet=quiet)
    statistics = Statistics()
    async with outputs(output, play=play) as sound, antiphon.connect(to, **options) as voice:
        try:
            async for event in voice.say(source):
                if isinstance(event, Audio):
                    await sound.take(event)
                elif isinstance(event, Finished):
                    statistics = event.statistics
                _tell(console, event)
        except GenerationError as error:
            raise SpeechError(f"{error}{voice_suggestion(to, options['voice'])}") from None
    return statistics


def _tell(console: Console, event: Event) -> None:
    if isinstance(event, UnitStarted):
        console.print(printable(event.text), markup=False, highlight=False)


def _sum_up(statistics: Statistics, file: Path | None, *, quiet: bool) -> None:
    if not statistics.audio_s:
        raise fail("there was nothing to say in that text" + (f"; {file} was not written" if file else ""))
    where = f" in {file}" if file else ""
    Console(stderr=True, quiet=quiet).print(
        f"{statistics.audio_s:.1f} s of speech{where}, "
        f"first heard {_ms(statistics.first_audible_s)} after the first text",
        style="dim",
        markup=False,
    )


def _ms(seconds: float | None) -> str:
    return "never" if seconds is None else f"{seconds * 1000:.0f} ms"


def _source(text: str | None, file: Path | None) -> TextSource:
    if text is not None and file is not None:
        raise fail("say either a text or a --file, not both", ExitCode.USAGE)
    if file is not None:
        try:
            return text_of(file)
        except OSError as error:
            raise fail(f"cannot read {file}: {error.strerror}", ExitCode.USAGE) from None
    if text is not None and text != "-":
        return text
    if sys.stdin.isatty():
        print("Type what to say, then Ctrl-D.", file=sys.stderr)
    return standard_input()
