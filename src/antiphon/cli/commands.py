"""The command line's root."""

import importlib
from collections.abc import Callable
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from antiphon import __version__
from antiphon.cli.failures import output_that_may_fail

# Each command is the function of its name in the module of its name, or there a group of more commands, imported when
# it is asked for: a command that speaks should not wait for what only a server needs.
COMMANDS = ("demo", "say", "page", "serve", "voices", "emulate", "doctor")


class _Commands(TyperGroup):
    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - the base's signature
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> TyperCommand | TyperGroup | None:  # noqa: ARG002 - the base's signature
        if cmd_name not in COMMANDS:
            return None
        found = getattr(importlib.import_module(f"antiphon.cli.{cmd_name}"), cmd_name)
        command = typer.main.get_command(found if isinstance(found, typer.Typer) else _application(cmd_name, found))
        assert isinstance(command, TyperCommand | TyperGroup)  # noqa: S101 - for the type checker: these are all there are
        return command


def _application(name: str, command: Callable[..., None]) -> typer.Typer:
    """An application of one command."""
    only = typer.Typer(add_completion=False, rich_markup_mode="rich")
    only.command(name)(command)
    return only


app = typer.Typer(
    name="antiphon",
    cls=_Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"antiphon {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Full-duplex speech: text streams in while it is being written, PCM streams out before it is complete.

    Start with [bold]antiphon demo[/bold], then [bold]antiphon say 'Hello there.'[/bold].
    """


def run_commands() -> None:
    """Run what the command line asks for."""
    with output_that_may_fail():
        app()
