"""A local SageMaker that runs here until Ctrl-C."""

import asyncio
import os
import shlex
import signal
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import typer
from rich.console import Console
from rich.markup import escape

from antiphon.cli.engines import check_engine
from antiphon.cli.extras import extra
from antiphon.cli.failures import ExitCode, reported
from antiphon.cli.outputs import check_output
from antiphon.emulator.endpoints import EndpointSpec
from antiphon.emulator.run import Run
from antiphon.emulator.settings import EmulatorSettings
from antiphon.emulator.state import EmulatorError, StateFolder
from antiphon.emulator.stopping import listens
from antiphon.server.child import ChildError, child_server

PATIENCE_S = 2.0
READ_BYTES = 4096


def check(settings: EmulatorSettings, ready_file: Path | None) -> None:
    """Refuse what would fail later.

    Raises:
        typer.Exit: something would; it has been said.
    """
    check_output(ready_file)
    for spec in settings.specs:
        if spec.url is None:
            check_engine(spec.engine)


def run_here(settings: EmulatorSettings, folder: StateFolder, ready_file: Path | None, *, background: bool) -> None:
    """Run until SIGINT or SIGTERM, which end it in order and with exit status 0.

    Raises:
        typer.Exit: it could not start, or was told to stop before it had started, or twice.
    """
    # Here, because this is what needs the extra: ending an emulator, or looking at one, does not.
    with extra("emulator", "the local SageMaker"):
        from antiphon.emulator.local import local_sagemaker  # noqa: PLC0415

    signals = _Signals()
    console = Console(highlight=False, soft_wrap=True)

    async def serve() -> None:
        signals.watch()
        with waiting(console, "starting the local SageMaker and its servers …") as done:
            async with local_sagemaker(settings, folder, _launch, _tell, detached=background) as run:
                done()
                announce(console, run, settings, folder)
                if ready_file is not None:
                    _write_ready_file(ready_file, run)
                await signals.first()

    with reported(EmulatorError, ChildError):
        try:
            asyncio.run(serve())
        except asyncio.CancelledError:
            raise typer.Exit(signals.code) from None


def stop_with_stdin() -> None:
    """End this process in order when its standard input ends, as it does with a parent process."""

    def watch() -> None:
        while os.read(sys.stdin.fileno(), READ_BYTES):
            pass
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def waiting(console: Console, message: str) -> Iterator[Callable[[], None]]:
    """Show that something takes its time; gives what ends that, which the end of the block does too."""
    if console.is_terminal:
        status = console.status(message)
        status.start()
        done: Callable[[], None] = status.stop
    else:
        timer = threading.Timer(PATIENCE_S, console.print, [message])
        timer.daemon = True
        timer.start()
        done = timer.cancel
    try:
        yield done
    finally:
        done()


class _Signals:
    """SIGINT and SIGTERM: the first one ends what runs in order; a second, or one before it runs, cancels it."""

    def __init__(self) -> None:
        self._first = asyncio.Event()
        self._running = False
        self.code = ExitCode.OK

    def watch(self) -> None:
        """Take the signals; the current task is what they end."""
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        for number, code in ((signal.SIGINT, ExitCode.INTERRUPTED), (signal.SIGTERM, ExitCode.TERMINATED)):
            loop.add_signal_handler(number, self._take, task, code)

    async def first(self) -> None:
        """Run until there is one."""
        self._running = True
        await self._first.wait()

    def _take(self, task: asyncio.Task[None] | None, code: ExitCode) -> None:
        if self._running and not self._first.is_set():
            self._first.set()
            return
        self.code = code
        if task is not None:
            task.cancel()


def _write_ready_file(path: Path, run: Run) -> None:
    partial = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        partial.write_text(run.to_json(), encoding="utf-8")
        partial.replace(path)
    except OSError as error:
        raise EmulatorError(f"cannot write the ready file {path}: {error.strerror}") from None


def announce(console: Console, run: Run, settings: EmulatorSettings, folder: StateFolder) -> None:
    """Say where it is, and what to do with it."""
    own = {spec.name: spec for spec in settings.specs}
    rows = [("SageMaker", f"{run.url}  ({run.region}{'' if settings.verify else ', signatures are not checked'})")]
    for endpoint in run.endpoints:
        spec = own[endpoint.name]
        server = f"antiphon serve --engine {spec.engine} --dialect {spec.dialect}, " if endpoint.started else ""
        rows.append(("endpoint", f"{endpoint.name} → {server}{endpoint.url}"))
    rows += [
        ("events", str(folder.events)),
        ("in a shell", f'eval "$({command("env")})"'),
        ("then", f"antiphon say 'Hello there.' --play --to sagemaker://{run.endpoints[0].name}"),
        ("stop", command("down") + ("" if run.detached else ", or Ctrl-C")),
    ]
    for label, value in rows:
        console.print(f"[bold]{label:<10}[/bold]  {escape(value)}")
    for endpoint in run.endpoints:
        if not endpoint.started and not listens(endpoint.url):
            console.print(
                f"nothing listens at {endpoint.url} yet: until it does, {endpoint.name} answers with error 424"
            )


def command(name: str) -> str:
    """How to write a subcommand in another shell, which must find the same state folder."""
    own = os.environ.get("ANTIPHON_STATE_DIR")
    return f"{f'ANTIPHON_STATE_DIR={shlex.quote(own)} ' if own else ''}antiphon emulate {name}"


def _tell(sentence: str) -> None:
    typer.echo(sentence, err=True)


@asynccontextmanager
async def _launch(spec: EndpointSpec, ended: Callable[[int], None]) -> AsyncIterator[str]:
    # SageMaker presents no key to a container.
    os.environ.pop("ANTIPHON_API_KEY", None)
    try:
        async with child_server("--engine", spec.engine, "--dialect", spec.dialect, ended=ended) as url:
            yield url
    except ChildError as error:
        raise ChildError(f"endpoint {spec.name}: {error}") from None
