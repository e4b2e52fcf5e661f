"""The command `antiphon`: parse, call, print. Exit codes live here."""

from antiphon.cli.main import main

__all__ = ["main"]
