"""A user's mistake is a sentence and an exit code, never a stack trace."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum

import typer
from pydantic import ValidationError


class ExitCode(IntEnum):
    """What scripts may rely on."""

    OK = 0
    FAILED = 1
    USAGE = 2
    INTERRUPTED = 130


def fail(message: str, code: ExitCode = ExitCode.FAILED) -> typer.Exit:
    """Say what is wrong on standard error; return what to raise."""
    print(f"antiphon: {message}", file=sys.stderr)
    return typer.Exit(code)


@contextmanager
def reported(*errors: type[Exception], code: ExitCode = ExitCode.FAILED) -> Iterator[None]:
    """Turn expected errors into a message and an exit code."""
    try:
        yield
    except ValidationError as error:
        raise fail(_settings_summary(error), ExitCode.USAGE) from None
    except errors as error:
        raise fail(str(error), code) from None


def _settings_summary(error: ValidationError) -> str:
    problems = error.errors(include_url=False, include_input=False, include_context=False)
    lines = [f"  {'.'.join(str(part) for part in problem['loc'])}: {problem['msg']}" for problem in problems]
    return "\n".join(["these settings do not fit:", *lines, "see: antiphon serve --help"])
