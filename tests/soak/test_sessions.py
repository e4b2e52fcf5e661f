"""What sessions leave behind once they are over, however they ended: nothing."""

import asyncio
import gc
import threading
from collections import Counter

import psutil
import pytest
from benchmarks._here import ServerHere, serving_here
from benchmarks._server import serving
from benchmarks._visits import visit
from benchmarks.leaks import SESSIONS, SLOPE_BAR_KB, slope_kb, watch
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from antiphon.protocol import SpeechSession
from antiphon.scheduling import Job, Listener
from antiphon.server.session import SessionRunner
from antiphon.server.settings import ServerSettings

pytestmark = [pytest.mark.soak, pytest.mark.timeout(240)]

PER_SESSION = (SessionRunner, SpeechSession, Listener, Job, WebSocketsSansIOProtocol)


def test_server_process_keeps_neither_memory_nor_threads_nor_descriptors() -> None:
    with serving("--engine", "tone") as server:
        readings = list(watch(server, SESSIONS))
    assert slope_kb(readings) <= SLOPE_BAR_KB
    assert {reading.threads for reading in readings} == {readings[0].threads}
    assert {reading.descriptors for reading in readings} == {readings[0].descriptors}


@pytest.mark.anyio
@pytest.mark.parametrize(("engine", "sessions"), [("tone", 500), ("hibari", 100)])
async def test_server_keeps_no_task_and_no_object_of_a_session(engine: str, sessions: int) -> None:
    async with serving_here(ServerSettings.load(engine=engine, port=0, log_level="error")) as server:
        await visit(server.address, 30)
        await _settle(server)
        gc.collect()
        before = _held()
        # What is freed without the collector is freed at once.
        gc.disable()
        try:
            await visit(server.address, sessions)
            await _settle(server)
            assert _held() == before
        finally:
            gc.enable()
    assert server.scheduler.statistics().stepping == 0


async def _settle(server: ServerHere) -> None:
    """Wait until every session and every connection is over."""
    async with asyncio.timeout(10):
        while server.state.sessions or server.scheduler.statistics().stepping or _connections():  # noqa: ASYNC110 - no event for this
            await asyncio.sleep(0.02)


def _connections() -> int:
    return sum(connection.status == "ESTABLISHED" for connection in psutil.Process().net_connections("tcp"))


def _held() -> dict[str, int]:
    objects = Counter(type(thing).__name__ for thing in gc.get_objects() if isinstance(thing, PER_SESSION))
    return {
        "tasks": len(asyncio.all_tasks()),
        "threads": threading.active_count(),
        "descriptors": psutil.Process().num_fds(),
        **{kind.__name__: objects[kind.__name__] for kind in PER_SESSION},
    }
