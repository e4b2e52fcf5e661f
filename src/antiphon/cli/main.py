"""Where the command `antiphon` begins."""

# That of `ExitCode`, whose module takes long to import; so does the module of the commands.
INTERRUPTED = 130


def main() -> None:
    """Run the command line. Ctrl-C is no stack trace, also while what it needs is still being imported.

    Raises:
        SystemExit: always, with the exit status.
    """
    try:
        from antiphon.cli.commands import run_commands  # noqa: PLC0415 - as above

        run_commands()
    except KeyboardInterrupt:
        raise SystemExit(INTERRUPTED) from None
