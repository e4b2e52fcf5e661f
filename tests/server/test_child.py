"""A server in a process of its own: its end, by itself and otherwise."""

import asyncio
import os
import signal

import psutil
import pytest

from antiphon.server.child import child_server

pytestmark = pytest.mark.anyio


def _server() -> int:
    (server,) = (child for child in psutil.Process().children() if "--exit-with-stdin" in child.cmdline())
    return int(server.pid)


async def test_its_end_by_itself_is_told() -> None:
    ended: asyncio.Queue[int] = asyncio.Queue()
    async with child_server("--engine", "tone", ended=ended.put_nowait):
        os.kill(_server(), signal.SIGKILL)
        assert await asyncio.wait_for(ended.get(), 10) == -signal.SIGKILL


async def test_one_that_has_just_ended_is_stopped_without_a_complaint(caplog: pytest.LogCaptureFixture) -> None:
    async with child_server("--engine", "tone"):
        pid = _server()
        os.kill(pid, signal.SIGKILL)
        # It is over, but the event loop has not heard of it.
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)  # noqa: ASYNC222 - so that it does not
    assert not caplog.records
