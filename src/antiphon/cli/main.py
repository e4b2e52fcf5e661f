"""The command line's root."""

from typing import Annotated

import typer

from antiphon import __version__
from antiphon.cli.demo import demo
from antiphon.cli.doctor import doctor
from antiphon.cli.say import say
from antiphon.cli.serve import serve
from antiphon.cli.voices import voices

app = typer.Typer(
    name="antiphon",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    help=(
        "Full-duplex speech: text streams in while it is being written, PCM streams out before it is complete.\n\n"
        "Start with [bold]antiphon demo[/bold], then [bold]antiphon say 'Hello there.' --play[/bold]."
    ),
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
    """Set what holds for every command."""


for command in (demo, say, serve, voices, doctor):
    app.command()(command)


def main() -> None:
    """Run the command line."""
    app()
