"""Runs a command's coroutine so that whatever ends it, what it began is cleaned up."""

import asyncio
import signal
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any

import typer

from antiphon.cli.failures import ExitCode


def run[T](command: Coroutine[Any, Any, T]) -> T:
    """Run it to its end; Ctrl-C and SIGTERM cancel it.

    Raises:
        typer.Exit: it was cancelled so, and has cleaned up.
    """
    terminated = False

    async def cancellable() -> T:
        task = asyncio.current_task()

        def terminate() -> None:
            nonlocal terminated
            terminated = True
            if task is not None:
                task.cancel()

        with suppress(NotImplementedError):  # the event loop of Windows knows no signals
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, terminate)
        return await command

    try:
        return asyncio.run(cancellable())
    except KeyboardInterrupt:
        raise typer.Exit(ExitCode.INTERRUPTED) from None
    except asyncio.CancelledError:
        if not terminated:
            raise
        raise typer.Exit(ExitCode.TERMINATED) from None
