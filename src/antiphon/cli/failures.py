"""A user's mistake is a sentence and an exit code, never a stack trace."""

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import IntEnum

import typer
from pydantic import ValidationError

from antiphon.cli.words import in_words, printable


class ExitCode(IntEnum):
    """What scripts may rely on."""

    OK = 0
    FAILED = 1
    USAGE = 2
    INTERRUPTED = 130
    TERMINATED = 143


# What writing to a standard stream fails with. It gives no file name, by which it is told from everything else.
_UNWRITABLE = frozenset({errno.EPIPE, errno.ENOSPC, errno.EIO, errno.EFBIG, errno.EDQUOT, errno.EBADF})


def say_on_stderr(message: str) -> None:
    """Print a sentence about what goes wrong; where that cannot be, nothing can be said."""
    with suppress(OSError):
        print(f"antiphon: {printable(message)}", file=sys.stderr)


def fail(message: str, code: ExitCode = ExitCode.FAILED) -> typer.Exit:
    """Say what is wrong on standard error; return what to raise."""
    say_on_stderr(message)
    return typer.Exit(code)


@contextmanager
def reported(*errors: type[Exception], code: ExitCode = ExitCode.FAILED) -> Iterator[None]:
    """Turn expected errors into a message and an exit code."""
    try:
        yield
    except ValidationError as error:
        raise fail(_settings_summary(error), ExitCode.USAGE) from None
    except errors as error:
        if _is_of_output(error):
            raise
        raise fail(in_words(error), code) from None


@contextmanager
def output_that_may_fail() -> Iterator[None]:
    """Around a whole command: standard output that is full is an error in words, one that nobody reads is none.

    Raises:
        SystemExit: it cannot be written.
    """
    try:
        try:
            yield
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()
    except OSError as error:
        if not _is_of_output(error):
            raise
        # What is still in the buffer would fail once more when Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        if error.errno != errno.EPIPE:
            say_on_stderr(f"cannot write to standard output: {error.strerror}")
        raise SystemExit(ExitCode.FAILED) from None


def _is_of_output(error: Exception) -> bool:
    return isinstance(error, OSError) and error.filename is None and error.errno in _UNWRITABLE


def _settings_summary(error: ValidationError) -> str:
    problems = error.errors(include_url=False, include_input=False, include_context=False)
    lines = [f"  {'.'.join(str(part) for part in problem['loc'])}: {problem['msg']}" for problem in problems]
    return "\n".join(["these settings do not fit:", *lines, "see: antiphon serve --help"])
