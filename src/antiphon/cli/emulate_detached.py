"""A local SageMaker that goes on when the command has ended."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any

import typer
from rich.console import Console

from antiphon.cli.emulate_up import announce, waiting
from antiphon.cli.failures import ExitCode, fail, reported
from antiphon.emulator.run import Run
from antiphon.emulator.settings import EmulatorSettings
from antiphon.emulator.state import AlreadyRunningError, EmulatorError, StateFolder

POLL_S = 0.05
STOP_TIMEOUT_S = 10.0
# Of this command only; the other one is told by an option that help does not show.
OWN_OPTIONS = frozenset({"detach", "background"})


def run_in_background(context: typer.Context, settings: EmulatorSettings, folder: StateFolder) -> None:
    """Start the command of this context once more, in the background, and wait until it is ready.

    Raises:
        typer.Exit: it did not start; it has been said.
    """
    with reported(EmulatorError):
        if folder.held:
            raise AlreadyRunningError(folder.who())
        process = _start([*arguments(context), "--background"], folder)
    console = Console(highlight=False, soft_wrap=True)
    try:
        with waiting(console, "starting the local SageMaker and its servers …"):
            run = _ready(process, folder)
    except BaseException:
        _end(process)
        raise
    if run is None:
        raise _failure(process.returncode, folder.log.read_text(encoding="utf-8", errors="replace"))
    announce(console, run, settings, folder)


def arguments(context: typer.Context) -> list[str]:
    """Return the options that this command was given, as they can be given again."""
    return [word for option in context.command.params for word in _written(option, context.params[option.name or ""])]


def _written(option: Any, value: Any) -> Iterator[str]:
    if option.name in OWN_OPTIONS or value is None:
        return
    if isinstance(value, bool):
        names = option.opts if value else option.secondary_opts
        yield from names[:1]
        return
    for one in value if isinstance(value, list | tuple) else [value]:
        yield f"{option.opts[0]}={one}"


def _start(options: Sequence[str], folder: StateFolder) -> "subprocess.Popen[bytes]":
    folder.make()
    try:
        descriptor = os.open(folder.log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)
    except OSError as error:
        raise EmulatorError(f"cannot write {folder.log}: {error.strerror}") from None
    with os.fdopen(descriptor, "wb") as log:
        return subprocess.Popen(  # noqa: S603 - it is this program
            [sys.executable, "-m", "antiphon", "emulate", "up", *options],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


def _ready(process: "subprocess.Popen[bytes]", folder: StateFolder) -> Run | None:
    """Wait until it is ready; return None if it has ended without having been."""
    while process.poll() is None:
        run = folder.running()
        if run is not None and run.pid == process.pid and run.ready:
            return run
        time.sleep(POLL_S)
    return None


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    try:
        process.wait(STOP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _failure(status: int, said: str) -> typer.Exit:
    """What to raise for one that did not start: in its own words and with its own exit status, if they are meant for us."""
    before, mark, sentence = said.rpartition("antiphon: ")
    if mark and (not before or before.endswith("\n")):
        code = ExitCode(status) if status in {ExitCode.FAILED, ExitCode.USAGE} else ExitCode.FAILED
        return fail(sentence.strip(), code)
    last = next((line for line in reversed(said.splitlines()) if line.strip()), "nothing")
    return fail(f"the local SageMaker did not start; the last it said is: {last} (the rest: antiphon emulate logs)")
