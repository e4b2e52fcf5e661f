"""The WebSocket to the container; what it does for a stream is tested with streams."""

import asyncio
import gc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from tests.emulator.runtime.driving import TIMINGS, eventually
from tests.emulator.runtime.raw_container import Connection, raw_container
from websockets.frames import Frame, Opcode
from websockets.typing import BytesLike

from antiphon.emulator.runtime.alive import Alive
from antiphon.emulator.runtime.sidecar import MAX_FRAME_BYTES, Sidecar, SidecarError
from antiphon.emulator.runtime.timings import Timings
from antiphon.emulator.wire import parts

pytestmark = pytest.mark.anyio


class Listener:
    """Keeps what it hears."""

    def __init__(self) -> None:
        self.frames: list[tuple[parts.Opcode, bool, bytes]] = []
        self.missed: list[int] = []
        self.ends: list[tuple[int, str, str]] = []
        self.flow: list[str] = []

    def opened(self) -> None:
        self.flow.append("opened")

    def frame(self, opcode: parts.Opcode, fin: bool, data: BytesLike) -> None:
        self.frames.append((opcode, fin, bytes(data)))

    def pause_input(self) -> None:
        self.flow.append("pause")

    def resume_input(self) -> None:
        self.flow.append("resume")

    def ping(self, missed: int) -> None:
        self.missed.append(missed)

    def closed(self, code: int, reason: str, by: str) -> None:
        self.ends.append((code, reason, by))


@asynccontextmanager
async def opened(timings: Timings = TIMINGS) -> AsyncIterator[tuple[Sidecar, Listener, Connection, Alive[Sidecar]]]:
    listener, alive = Listener(), Alive[Sidecar]()
    async with raw_container() as container:
        sidecar = Sidecar(container.url, "/v1?a=b", listener, timings, alive)
        await sidecar.open()
        try:
            yield sidecar, listener, await container.connected(), alive
        finally:
            await alive.end(0)


async def test_a_ping_of_the_container_is_answered_and_not_passed_on() -> None:
    async with opened() as (_, listener, connection, _):
        connection.send(Opcode.PING, b"there?")
        await eventually(lambda: connection.pongs == 1)
        assert not listener.frames


async def test_the_largest_frame_passes_and_a_larger_one_does_not() -> None:
    async with opened() as (_, listener, connection, _):
        connection.send(Opcode.BINARY, bytes(MAX_FRAME_BYTES))
        await eventually(lambda: len(listener.frames) == 1, 20)
        connection.send(Opcode.BINARY, bytes(MAX_FRAME_BYTES + 1))
        await eventually(lambda: bool(listener.ends), 20)
        assert (listener.ends[0][0], listener.ends[0][2]) == (1009, "runtime")


async def test_a_message_of_many_frames_is_not_bounded_by_the_size_of_one() -> None:
    async with opened() as (_, listener, connection, _):
        connection.send(Opcode.BINARY, bytes(MAX_FRAME_BYTES), fin=False)
        connection.send(Opcode.CONT, bytes(MAX_FRAME_BYTES), fin=False)
        connection.send(Opcode.CONT, b"end")
        await eventually(lambda: len(listener.frames) == 3, 20)
        assert not listener.ends


async def test_pongs_that_could_not_be_read_are_not_missed() -> None:
    async with opened(Timings(ping_interval_s=0.02, missed_pongs=2)) as (sidecar, listener, _, _):
        sidecar.pause_reading()
        await eventually(lambda: len(listener.missed) > 8)
        assert set(listener.missed) == {0}
        sidecar.resume_reading()
        await eventually(lambda: len(listener.missed) > 12)
        assert not listener.ends


async def test_a_container_that_takes_nothing_is_told_of_and_gives_no_pongs() -> None:
    async with opened(Timings(ping_interval_s=0.05)) as (sidecar, listener, connection, _):
        connection.pause()
        for _ in range(200):
            sidecar.send(parts.Frame(parts.Opcode.BINARY, True, bytes(2**16), False))
        sidecar.flush()
        assert listener.flow == ["opened", "pause"]
        await eventually(lambda: bool(listener.ends))
        assert listener.ends == [(1006, "ping timeout", "runtime")]


async def test_a_container_that_reads_nothing_and_floods_with_pings_is_cut_off(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("antiphon.emulator.runtime.sidecar.MAX_UNREAD_BYTES", 2**16)
    async with opened() as (_, listener, connection, alive):
        connection.pause()
        ping = Frame(Opcode.PING, bytes(125)).serialize(mask=False)
        async with asyncio.timeout(5):
            while alive:
                connection.write(ping * 1000)
                await asyncio.sleep(0)
        assert listener.ends == [(1006, "", "container")]


async def test_who_does_not_wait_any_more_leaves_no_complaint_behind() -> None:
    complaints: list[dict[str, object]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
    async with raw_container() as container:
        for turns in range(8):  # at every stage of connecting
            alive = Alive[Sidecar]()
            opening = asyncio.create_task(Sidecar(container.url, "/", Listener(), TIMINGS, alive).open())
            for _ in range(turns):
                await asyncio.sleep(0)
            opening.cancel()
            await asyncio.wait([opening])
            await alive.end(0)
            await asyncio.sleep(0.01)
        del opening
        gc.collect()
    asyncio.get_running_loop().set_exception_handler(None)
    assert complaints == []


async def test_a_close_that_is_not_answered_ends_all_the_same() -> None:
    async with opened(Timings(close_timeout_s=0.05)) as (sidecar, listener, connection, alive):
        connection.pause()
        sidecar.close(1000)
        assert len(alive) == 1
        await eventually(lambda: len(alive) == 0)
        assert listener.ends == [(1006, "", "runtime")]
        sidecar.close(1000)


async def test_the_answer_to_a_close_is_read_also_while_nothing_else_was() -> None:
    async with opened() as (sidecar, listener, connection, _):
        sidecar.pause_reading()
        connection.send(Opcode.BINARY, b"before")
        sidecar.close(1000)
        await eventually(lambda: bool(listener.ends), 1)
        assert listener.ends == [(1000, "", "runtime")]
        assert [data for _, _, data in listener.frames] == [b"before"]


async def test_nothing_is_sent_after_a_close() -> None:
    async with opened() as (sidecar, _, connection, _):
        sidecar.close(1000)
        sidecar.send(parts.Frame(parts.Opcode.TEXT, True, b"late", True))
        assert (await connection.frame()).opcode is Opcode.CLOSE
        await connection.gone()
        assert connection.frames.empty()


@pytest.mark.parametrize(
    "answer",
    [b"", b"HTTP/1.1 200 OK\r\n\r\n", b"SSH-2.0-OpenSSH_9.6\r\n", b"x" * 100_000, b"HTTP/1.1 101 Hi\r\n\r\n"],
    ids=["nothing", "no upgrade", "another protocol", "endless", "no key"],
)
async def test_what_is_no_websocket_server_is_an_error(answer: bytes) -> None:
    def serve(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(answer)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    alive: Alive[Sidecar] = Alive()
    port = server.sockets[0].getsockname()[1]
    sidecar = Sidecar(f"http://127.0.0.1:{port}", "/", Listener(), TIMINGS, alive)
    with pytest.raises(SidecarError):
        await sidecar.open()
    await eventually(lambda: len(alive) == 0)
    server.close()


async def test_nobody_there_is_an_error_and_leaves_nothing_behind() -> None:
    alive: Alive[Sidecar] = Alive()
    with pytest.raises(SidecarError, match=r"^nothing listens at http://127\.0\.0\.1:1$"):
        await Sidecar("http://127.0.0.1:1", "/", Listener(), TIMINGS, alive).open()
    assert len(alive) == 0
