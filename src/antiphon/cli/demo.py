"""`antiphon demo`: the whole chain on this machine, in half a minute, with figures."""

import json
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

import antiphon
from antiphon.server.child import ChildError, child_server
from antiphon.cli.engines import check_engine
from antiphon.cli.failures import ExitCode, fail, reported
from antiphon.cli.outputs import STANDARD_OUTPUT, check_output, outputs
from antiphon.cli.progress import Progress
from antiphon.cli.running import run
from antiphon.client.errors import SpeechError
from antiphon.client.events import Audio, Finished
from antiphon.client.pace import paced
from antiphon.client.statistics import Statistics

TEXT = (
    "Hello, and welcome. You are hearing this sentence while the rest of the text is still being written. "
    "Each word arrives at the pace of a language model, and each sentence is spoken as soon as it is complete. "
    "The voice is a small neural network that runs on this computer, without a network and without a graphics card. "
    "When one machine is no longer enough, the same program speaks through a larger model on Amazon SageMaker."
)
NEXT = """\
[bold]Try next[/bold]
  antiphon say 'Hello there.' --play        say something through the loudspeaker
  antiphon voices                           other voices
  antiphon serve                            a server for your own client on ws://127.0.0.1:8080
  antiphon doctor                           what works on this machine, and what to do about the rest"""


@dataclass(frozen=True, slots=True)
class DemoOptions:
    """What the command line asked for; the fields are its options."""

    text: str
    tokens_per_second: float
    output: Path
    play: bool
    voice: str | None
    engine: str
    to: str | None


@dataclass(frozen=True, slots=True)
class DemoReport:
    """What ``--json`` writes. Times are seconds since the first token was sent; None is never.

    Attributes:
        first_audio_s: the first chunk of audio arrived.
        first_audible_s: the same plus the silence it begins with.
        text_complete_s: the last token was sent.
        first_unit_text_s: the last token of the first unit was sent.
        audio_s: playing time in seconds.
        sample_rate: samples per second.
        chunks: binary frames of audio.
        bytes: of audio.
        worst_starvation_s: the longest that a listener would have waited for lack of audio.
        engine: who spoke; None for a server that was running already.
        target: where.
        text: what.
        wav: the recording.
    """

    first_audio_s: float | None
    first_audible_s: float | None
    text_complete_s: float | None
    first_unit_text_s: float | None
    audio_s: float
    sample_rate: int
    chunks: int
    bytes: int
    worst_starvation_s: float
    engine: str | None
    target: str
    text: str
    wav: str


def demo(
    text: Annotated[str, typer.Option(help="What to say.", show_default=False)] = TEXT,
    tokens_per_second: Annotated[float, typer.Option(min=0.5, max=10_000, help="How fast it is written.")] = 30.0,
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to record.")] = Path("antiphon-demo.wav"),
    play: Annotated[bool, typer.Option("--play", help="Play it too.")] = False,
    voice: Annotated[str | None, typer.Option(help="Voice; `antiphon voices` lists them.")] = None,
    engine: Annotated[str, typer.Option(help="Engine of the server that the demo starts.")] = "hibari",
    to: Annotated[str | None, typer.Option("--to", help="Speak through this server (ws://HOST:PORT) instead.")] = None,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write the figures here, as JSON.")] = None,
) -> None:
    """Start a server on a free port, stream a paragraph to it at an LLM's pace, and record what comes back.

    Shows units, chunks and bytes while they arrive, then how soon the first sound came. Exit status 0 only when there
    was sound.
    """
    if output == STANDARD_OUTPUT:
        raise fail("the demo shows its figures on standard output; record with -o FILE", ExitCode.USAGE)
    check_output(output)
    check_output(json_file)
    if to is None:
        check_engine(engine)
    console = Console()
    options = DemoOptions(text, tokens_per_second, output, play, voice, engine, to)
    with reported(SpeechError, ChildError, OSError):
        report = run(_demo(console, options))
        if json_file is not None:
            json_file.write_text(json.dumps(asdict(report), indent=2) + "\n", encoding="utf-8")
    if not report.audio_s:
        console.print("There was nothing to say in that text.")
        raise typer.Exit(ExitCode.FAILED)
    _print(console, report)


async def _demo(console: Console, options: DemoOptions) -> DemoReport:
    async with AsyncExitStack() as stack:
        target = options.to or await _start_server(console, stack, options.engine)
        chain = "client → WebSocket → server" + (f" → {options.engine}" if options.to is None else "")
        console.print(f"{options.tokens_per_second:g} tokens/s → {chain}  ({target})", highlight=False, soft_wrap=True)
        sound = await stack.enter_async_context(outputs(options.output, play=options.play))
        voice = await stack.enter_async_context(antiphon.connect(target, voice=options.voice))
        statistics = Statistics()
        with Progress(console, options.text) as progress:
            async for event in voice.say(progress.watch(paced(options.text, options.tokens_per_second))):
                progress.show(event)
                if isinstance(event, Audio):
                    await sound.take(event)
                elif isinstance(event, Finished):
                    statistics = event.statistics
    return _report(statistics, options, target)


async def _start_server(console: Console, stack: AsyncExitStack, engine: str) -> str:
    with console.status(f"starting a server and loading its voice ({engine}) …"):
        url = await stack.enter_async_context(child_server("--engine", engine))
    return url.replace("http://", "ws://", 1)


def _report(statistics: Statistics, options: DemoOptions, target: str) -> DemoReport:
    return DemoReport(
        first_audio_s=statistics.first_chunk_s,
        first_audible_s=statistics.first_audible_s,
        text_complete_s=statistics.text_complete_s,
        first_unit_text_s=statistics.first_unit_text_s,
        audio_s=statistics.audio_s,
        sample_rate=statistics.sample_rate,
        chunks=statistics.chunks,
        bytes=statistics.bytes,
        worst_starvation_s=statistics.worst_starvation_s,
        engine=options.engine if options.to is None else None,
        target=target,
        text=options.text,
        wav=str(options.output),
    )


def _print(console: Console, report: DemoReport) -> None:
    table = Table(box=None, show_header=False, title="What happened", title_justify="left", title_style="bold")
    rows = (
        ("the first unit's text was complete after", report.first_unit_text_s),
        ("the first chunk of audio came after", report.first_audio_s),
        ("the first sound was heard after", report.first_audible_s),
        ("the text was complete after", report.text_complete_s),
        ("the longest wait for audio was", report.worst_starvation_s),
    )
    for label, seconds in rows:
        table.add_row(label, "never" if seconds is None else f"{seconds:.3f} s")
    table.add_row("audio", f"{report.audio_s:.2f} s at {report.sample_rate} Hz in {report.chunks} chunks")
    table.add_row("recorded in", report.wav)
    console.print()
    console.print(table)
    console.print()
    console.print(NEXT, highlight=False, soft_wrap=True)
