"""Structured logs, of the server and of the libraries it runs on. No words of a user are in them.

They are records of the standard library's logger `antiphon`: a program that speaks through ``local:`` sees what its
own logging lets through, and `configure_logging` is for the server's process alone.
"""

import asyncio
import errno
import logging
import sys
import traceback
from collections.abc import Iterator, MutableMapping
from typing import Any

import structlog

from antiphon.server.settings import ServerSettings

_NAME = "antiphon"
OUT_OF_DESCRIPTORS = {errno.EMFILE, errno.ENFILE}
EXHAUSTION_INTERVAL_S = 10.0
# What uvicorn and asyncio warn of, though it is clients that do it, as often as they like.
OF_CLIENTS = ("Invalid HTTP request received.", "Unsupported upgrade request.", "socket.send() raised exception.")


def wordless(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Replace an exception in a log event by its type and its place; a processor for structlog.

    Its message may quote what a user said, and so may the values in its frames.
    """
    given = event.pop("exc_info", None)
    if not given:
        return event
    error = given if isinstance(given, BaseException) else sys.exc_info()[1] if given is True else given[1]
    if error is not None:
        found = list(_leaves(error))
        event["exception"] = ", ".join(type(leaf).__qualname__ for leaf in found)
        event["trace"] = [line for leaf in found for line in _places(leaf)]
    return event


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _leaves(inner)
    else:
        yield error


def _places(error: BaseException) -> Iterator[str]:
    for frame in traceback.extract_tb(error.__traceback__):
        yield f"{frame.filename}:{frame.lineno} {frame.name}"


def _as_given(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Keep `logging.Logger.exception` from adding the exception again."""
    return {**event, "exc_info": False}


log: structlog.stdlib.BoundLogger = structlog.wrap_logger(
    logging.getLogger(_NAME),
    wrapper_class=structlog.stdlib.BoundLogger,
    processors=[structlog.stdlib.filter_by_level, wordless, _as_given, structlog.stdlib.render_to_log_kwargs],
)


class LoopErrors:
    """Logs what nobody awaited; an event loop's exception handler.

    Of asyncio's own message only that of a report without exception is kept: others quote a callback's arguments.
    """

    def __init__(self) -> None:
        self._quiet_until = 0.0

    def __call__(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Log one report."""
        error = context.get("exception")
        if isinstance(error, OSError) and error.errno in OUT_OF_DESCRIPTORS:
            self._on_exhaustion(loop, error)
        else:
            log.error("loop.error", exc_info=error, **({} if error else {"report": context["message"]}))

    def _on_exhaustion(self, loop: asyncio.AbstractEventLoop, error: OSError) -> None:
        """Say it now and then: asyncio reports each of its attempts to accept a connection."""
        if loop.time() >= self._quiet_until:
            self._quiet_until = loop.time() + EXHAUSTION_INTERVAL_S
            log.error("server.no_descriptors", reason=error.strerror, hint="raise the limit of open files (ulimit -n)")


class _Faults(logging.Filter):
    """Keeps what a library calls a fault and is none out of sight: what clients do, and work that the end cut off."""

    def __init__(self, level: int) -> None:
        super().__init__()
        self._level = level

    def filter(self, record: logging.LogRecord) -> bool:
        """Pass a client's doing as debug, and no cancellation."""
        if record.exc_info and isinstance(record.exc_info[1], asyncio.CancelledError):
            return False
        if record.msg not in OF_CLIENTS:
            return True
        record.levelno, record.levelname = logging.DEBUG, "DEBUG"
        return self._level <= logging.DEBUG


def configure_logging(settings: ServerSettings) -> None:
    """Write this process's logs to standard error, as `settings` say."""
    level = logging.getLevelNamesMapping()[settings.log_level.upper()]
    handler = logging.StreamHandler(sys.stderr)
    handler.addFilter(_Faults(level))
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[
                structlog.stdlib.add_log_level,
                structlog.stdlib.ExtraAdder(),
                structlog.processors.TimeStamper(fmt="iso", utc=True),
                wordless,
            ],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, _renderer(settings)],
        )
    )
    # The libraries' own news, such as uvicorn's of every connection, would only repeat ours.
    logging.basicConfig(handlers=[handler], level=max(logging.WARNING, level), force=True)
    logging.getLogger(_NAME).setLevel(level)


def _renderer(settings: ServerSettings) -> Any:
    if settings.log_format == "console" or (settings.log_format == "auto" and sys.stderr.isatty()):
        return structlog.dev.ConsoleRenderer()
    return structlog.processors.JSONRenderer()
