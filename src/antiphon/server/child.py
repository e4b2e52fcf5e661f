"""A server in a process of its own, for as long as a command needs one."""

import asyncio
import json
import os
import signal
import sys
import tempfile
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

START_TIMEOUT_S = 120.0
STOP_TIMEOUT_S = 5.0
POLL_S = 0.02


class ChildError(Exception):
    """The server did not come up; the message has its last words."""


@asynccontextmanager
async def child_server(*flags: str, ended: Callable[[int], None] | None = None) -> AsyncIterator[str]:
    """Start ``antiphon serve`` on a free port, give its URL (``http://…``), and end it.

    It also ends when this process does, however that happens, because its standard input ends then.

    Args:
        flags: of ``antiphon serve``.
        ended: told the exit status, negative for a signal, should the server end by itself once it was ready.

    Raises:
        ChildError: it did not become ready.
    """
    with tempfile.TemporaryDirectory(prefix="antiphon-") as folder:
        ready, log = Path(folder, "ready.json"), Path(folder, "log")
        command = [sys.executable, "-m", "antiphon", "serve", "--port", "0", "--exit-with-stdin"]
        process = await _start([*command, "--ready-file", str(ready), *flags], log)
        try:
            await _until_ready(process, ready, log)
            async with _watched(process, ended):
                yield _read_url(ready)
        finally:
            await _stop(process)


async def _start(command: list[str], log: Path) -> Process:
    with log.open("wb") as output:
        return await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=DEVNULL, stderr=output)


async def _until_ready(process: Process, ready: Path, log: Path) -> None:
    try:
        async with asyncio.timeout(START_TIMEOUT_S):
            while not ready.exists():  # noqa: ASYNC240 - a look at a local folder does not block
                if process.returncode is not None:
                    raise ChildError(f"the server did not start: {_last_words(log)}")
                await asyncio.sleep(POLL_S)
    except TimeoutError:
        raise ChildError(f"the server was not ready after {START_TIMEOUT_S:.0f} s: {_last_words(log)}") from None


@asynccontextmanager
async def _watched(process: Process, ended: Callable[[int], None] | None) -> AsyncIterator[None]:
    async def watch() -> None:
        status = await process.wait()
        if ended is not None:
            ended(status)

    watching = asyncio.create_task(watch())
    try:
        yield
    finally:
        watching.cancel()


def _read_url(ready: Path) -> str:
    url: str = json.loads(ready.read_text(encoding="utf-8"))["url"]
    return url


async def _stop(process: Process) -> None:
    if process.stdin is not None:
        process.stdin.close()
    if process.returncode is None:
        # `terminate` looks first, and where the process has just ended takes its status away: asyncio would complain.
        with suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGTERM)
    try:
        async with asyncio.timeout(STOP_TIMEOUT_S):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()


def _last_words(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").split(os.linesep)
    return next((line for line in reversed(lines) if line.strip()), "it said nothing")
