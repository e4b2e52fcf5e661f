"""`antiphon serve`: one option per field of `ServerSettings`, and no more."""

import asyncio
import inspect
import os
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import SecretStr
from pydantic.fields import FieldInfo

from antiphon.cli.failures import reported
from antiphon.engines.contract import EngineError
from antiphon.server.app import create_app
from antiphon.server.runner import ServeError, configure_logging, listen
from antiphon.server.runner import serve as run_server
from antiphon.server.settings import ServerSettings, SettingsError

READ_BYTES = 4096


def serve(
    config: Annotated[
        Path | None, typer.Option("--config", envvar="ANTIPHON_CONFIG", help="TOML file with any of these settings.")
    ] = None,
    ready_file: Annotated[
        Path | None, typer.Option("--ready-file", help="Write url and pid here, as JSON, once the server can speak.")
    ] = None,
    exit_with_stdin: Annotated[
        bool, typer.Option("--exit-with-stdin", help="Stop when standard input ends, as it does with a parent process.")
    ] = False,
    **given: Any,
) -> None:
    """Serve speech over WebSocket and HTTP, until SIGTERM or Ctrl-C.

    Every setting can be a flag, an environment variable, or a line of a TOML file (`port = 8080`); flags win over the
    environment, and that over the file. Clients stream text to ws://HOST:PORT/v1/audio/speech/stream, or post it to
    http://HOST:PORT/v1/audio/speech. On SIGTERM, sessions may finish what they are saying.

    Clients need a bearer key if there is one: in the variable ANTIPHON_API_KEY, as `api_key` in the TOML file, or in a
    file named by --api-key-file. No flag takes the key itself, because others can read a command line.
    """
    with reported(EngineError, ServeError, SettingsError):
        settings = ServerSettings.load(config, **{name: value for name, value in given.items() if value is not None})
        configure_logging(settings)
        app = create_app(settings)
        if exit_with_stdin:
            threading.Thread(target=_stop_at_end_of_input, daemon=True).start()
        asyncio.run(run_server(app, listen(settings), ready_file))


def _stop_at_end_of_input() -> None:
    while os.read(sys.stdin.fileno(), READ_BYTES):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def _options() -> Iterator[inspect.Parameter]:
    for name, field in ServerSettings.model_fields.items():
        if field.annotation != SecretStr | None:
            yield inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=_option(name, field))


def _option(name: str, field: FieldInfo) -> Any:
    # The variable is only shown: `ServerSettings.load` reads it, once for all sources.
    notes = [f"env var: ANTIPHON_{name.upper()}", *([] if field.default is None else [f"default: {field.default}"])]
    shown = " ".join(f"\\[{note}]" for note in notes)
    option = typer.Option(
        f"--{name.replace('_', '-')}", help=f"{field.description} [dim]{shown}[/dim]", show_default=False
    )
    return Annotated[Any if field.annotation is None else field.annotation | None, option]


def _with_options(function: Any) -> None:
    """Replace `**given` in the signature by the settings' options, which typer then reads."""
    signature = inspect.signature(function)
    own = [p for p in signature.parameters.values() if p.kind is not inspect.Parameter.VAR_KEYWORD]
    own = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in own]
    function.__signature__ = signature.replace(parameters=[*_options(), *own])


_with_options(serve)
