"""`antiphon demo`: the whole chain on this machine, in half a minute, with figures."""

import json
from contextlib import AbstractAsyncContextManager, AsyncExitStack, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

import antiphon
from antiphon.cli.demo_chain import Chain, missing, over_websocket, through_sagemaker
from antiphon.cli.engines import check_engine
from antiphon.cli.failures import ExitCode, fail, reported
from antiphon.cli.outputs import STANDARD_OUTPUT, check_output, outputs
from antiphon.cli.progress import Progress
from antiphon.cli.running import run
from antiphon.client.errors import SpeechError
from antiphon.client.events import Audio, Finished
from antiphon.client.pace import paced
from antiphon.client.statistics import Statistics
from antiphon.server.child import ChildError

TEXT = (
    "Hello, and welcome. You are hearing this sentence while the rest of the text is still being written. "
    "Each word arrives at the pace of a language model, and each sentence is spoken as soon as it is complete. "
    "The voice is a small neural network that runs on this computer, without a network and without a graphics card. "
    "When one machine is no longer enough, the same program speaks through a larger model on Amazon SageMaker."
)
NEXT = """\
[bold]Try next[/bold]{before_each}
  antiphon say 'Hello there.' --play        say something through the loudspeaker
  antiphon voices                           other voices
  antiphon serve                            a server for your own client on ws://127.0.0.1:8080
  antiphon emulate up --endpoint qwen3-tts  the local SageMaker of this demo, for the AWS SDKs
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
    direct: bool


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
        sdk_version: of the AWS SDK; None when it took no part.
        event_log: what crossed the wire of the local SageMaker, as JSON lines; None when it took no part.
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
    sdk_version: str | None
    event_log: str | None
    text: str
    wav: str


def demo(
    text: Annotated[str, typer.Option(help="What to say.", show_default=False)] = TEXT,
    tokens_per_second: Annotated[float, typer.Option(min=0.5, max=10_000, help="How fast it is written.")] = 30.0,
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to record.")] = Path("antiphon-demo.wav"),
    play: Annotated[bool, typer.Option("--play", help="Play it too.")] = False,
    voice: Annotated[str | None, typer.Option(help="Voice; `antiphon voices` lists them.")] = None,
    engine: Annotated[str, typer.Option(help="Engine of the server that the demo starts.")] = "hibari",
    to: Annotated[
        str | None,
        typer.Option("--to", help="Speak through this server instead: ws://HOST:PORT, sagemaker://ENDPOINT, …"),
    ] = None,
    direct: Annotated[bool, typer.Option("--direct", help="Leave SageMaker out: WebSocket to the server.")] = False,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write the figures here, as JSON.")] = None,
) -> None:
    """Stream a paragraph to a voice at an LLM's pace, through a local SageMaker, and record what comes back.

    The way is the longest that is installed: the AWS SDK, HTTP/2, a local SageMaker's runtime and sidecar, a server; or,
    without the extras emulator and sagemaker, WebSocket to the server. All of it is started here, and ends with it.

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
    options = DemoOptions(text, tokens_per_second, output, play, voice, engine, to, direct)
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
        chain = await stack.enter_async_context(_chain(console, options))
        words = f"{options.tokens_per_second:g} tokens/s → {chain.words}  ({chain.target})"
        console.print(words, highlight=False, soft_wrap=True)
        statistics = await _speak(console, options, chain.target)
    return _report(statistics, options, chain)


def _chain(console: Console, options: DemoOptions) -> AbstractAsyncContextManager[Chain]:
    if options.to is not None:
        return nullcontext(Chain(options.to, "client → server"))
    if options.direct:
        return over_websocket(console, options.engine)
    lacking = missing()
    if lacking is None:
        return through_sagemaker(console, options.engine, options.output.with_suffix(".events.jsonl"))
    install = "pip install 'antiphon[emulator,sagemaker]'"
    console.print(f"without SageMaker: {lacking} is not installed ({install})", markup=False, highlight=False)
    return over_websocket(console, options.engine)


async def _speak(console: Console, options: DemoOptions, target: str) -> Statistics:
    statistics = Statistics()
    async with (
        outputs(options.output, play=options.play) as sound,
        antiphon.connect(target, voice=options.voice) as voice,
    ):
        with Progress(console, options.text) as progress:
            async for event in voice.say(progress.watch(paced(options.text, options.tokens_per_second))):
                progress.show(event)
                if isinstance(event, Audio):
                    await sound.take(event)
                elif isinstance(event, Finished):
                    statistics = event.statistics
    return statistics


def _report(statistics: Statistics, options: DemoOptions, chain: Chain) -> DemoReport:
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
        target=chain.target,
        sdk_version=chain.sdk_version,
        event_log=None if chain.event_log is None else str(chain.event_log),
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
    if report.event_log is not None:
        table.add_row("what crossed the wire", report.event_log)
    console.print()
    console.print(table)
    console.print()
    checkout = (Path(antiphon.__file__).parents[2] / "dev").is_file()
    before_each = " (from this checkout, with ./dev run before each)" if checkout else ""
    console.print(NEXT.format(before_each=before_each), highlight=False, soft_wrap=True)
