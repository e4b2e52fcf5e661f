"""Who does not read makes the other side wait, and nobody else."""

import asyncio

import pytest
from tests.emulator.runtime.driving import Certificate, Rig, eventually, rig
from tests.emulator.runtime.raw_client import part
from tests.emulator.runtime.raw_container import Connection
from websockets.frames import Opcode

from antiphon.emulator.runtime import routes
from antiphon.emulator.runtime.bidirectional import Bidirectional
from antiphon.emulator.runtime.connection import SEND_BUFFER_BYTES, WRITE_BUFFER_BYTES
from antiphon.emulator.runtime.http2 import CONNECTION_WINDOW_BYTES, STREAM_WINDOW_BYTES
from antiphon.emulator.wire.parts import encode_part

pytestmark = pytest.mark.anyio

CHUNK = bytes(32 * 2**10)
KERNEL_BYTES = 16 * 2**20
"""More than a connection's sockets hold (Linux: 4 MiB to send and 6 MiB to receive)."""


async def fill(container: Connection) -> int:
    """Send until the runtime takes nothing more; give how many bytes it was."""
    sent = stable = 0
    while stable < 20:
        if container.unsent < 2**20:
            container.send(Opcode.BINARY, CHUNK)
            sent += len(CHUNK)
            stable = 0
            await asyncio.sleep(0)
        else:
            stable += 1
            await asyncio.sleep(0.01)
        assert sent < 4 * KERNEL_BYTES, "the runtime reads on, though nobody takes what it reads"
    return sent


def held(it: Rig) -> int:
    """Bytes that the runtime keeps for its clients."""
    return sum(len(outgoing.data) for outgoing in it.connection._http2._outgoing.values())


async def test_a_client_that_does_not_credit_stops_the_container(certificate: Certificate) -> None:
    async with rig(certificate) as it:
        stream, container = await it.stream()
        it.client.thirsty.add(stream)
        sent = await fill(container)
        # A read takes 256 KiB at once, of which the last frame may be incomplete.
        assert held(it) <= SEND_BUFFER_BYTES + 2**18
        assert len(it.client.responses[stream].body) <= 65_535
        # And all of it comes, once it is wanted.
        it.client.thirsty.clear()
        it.client.h2.increment_flow_control_window(2**30, stream)
        it.client.flush()
        chunks = sent // len(CHUNK)
        await eventually(lambda: len(it.client.responses[stream].body) >= sent, 30)
        await it.client.until(lambda: len(it.client.responses[stream].messages) == chunks)


async def test_a_client_that_does_not_read_its_socket_stops_the_container(certificate: Certificate) -> None:
    async with rig(certificate) as it:
        stream, container = await it.stream()
        it.client.h2.increment_flow_control_window(2**30, stream)
        it.client.flush()
        transport = it.client.writer.transport
        transport.pause_reading()  # type: ignore[attr-defined] # a transport for both directions
        await fill(container)
        assert it.connection._transport is not None
        assert it.connection._transport.get_write_buffer_size() <= 2 * WRITE_BUFFER_BYTES
        assert held(it) <= SEND_BUFFER_BYTES + 2**18
        transport.resume_reading()  # type: ignore[attr-defined] # as above
        container.send(Opcode.TEXT, b"last")
        await eventually(
            lambda: it.client.responses[stream].body.endswith(encode_part(b"last", text=True, final=True)), 30
        )


async def test_a_stream_that_nobody_reads_leaves_the_others_alone(certificate: Certificate) -> None:
    async with rig(certificate) as it:
        stuck, its_container = await it.stream()
        free, container = await it.stream()
        it.client.thirsty.add(stuck)
        await fill(its_container)
        container.send(Opcode.BINARY, bytes(2**20))
        container.send(Opcode.TEXT, b"still quick")
        await it.client.until(lambda: b"still quick" in it.client.responses[free].body)
        it.client.part(free, b"and back")
        assert (await container.frame()).data == b"and back"


async def pour(it: Rig, stream: int) -> int:
    """Send until the runtime takes nothing more; give how many bytes it was."""
    event = part(CHUNK, text=False)
    sent = 0
    try:
        while sent < 4 * KERNEL_BYTES:
            async with asyncio.timeout(0.5):
                await it.client.send_all(stream, event)
            sent += len(event)
    except TimeoutError:
        return sent
    pytest.fail("the runtime reads on, though nobody takes what it reads")


async def test_a_container_that_does_not_read_stops_the_client(certificate: Certificate) -> None:
    async with rig(certificate) as it:
        stream, container = await it.stream()
        container.pause()
        await pour(it, stream)
        (sidecar,) = it.runtime._sidecars
        assert sidecar._transport is not None
        assert sidecar._transport.get_write_buffer_size() <= 2**18
        (handler,) = it.connection._handlers.values()
        assert isinstance(handler, Bidirectional)
        assert len(handler._held) <= STREAM_WINDOW_BYTES
        container.resume()
        await it.client.until(lambda: it.client.h2.local_flow_control_window(stream) > 0)


async def test_containers_that_do_not_read_leave_the_connections_window_to_others(certificate: Certificate) -> None:
    async with rig(certificate) as it:
        stuck, its_container = await it.stream()
        its_container.pause()
        await pour(it, stuck)
        free, container = await it.stream()
        # More than the window of the connection, which the stuck stream has not given back.
        count = CONNECTION_WINDOW_BYTES // len(CHUNK) + 10
        for _ in range(count):
            await it.client.send_all(free, part(CHUNK, text=False))
            await container.frame()


async def test_input_that_comes_before_the_container_accepts_waits(certificate: Certificate) -> None:
    async with rig(certificate) as it:
        it.container.silent = True
        stream = it.client.open()
        await eventually(lambda: bool(it.container.open))
        (waiting,) = it.container.open
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.3):
                await it.client.send_all(stream, part(bytes(2 * STREAM_WINDOW_BYTES), text=False))
        it.container.silent = False
        assert waiting.request is not None
        waiting._shake_hands(waiting.request)
        waiting._flush()
        assert (await it.client.answered(stream)).status == 200


async def test_events_that_were_begun_are_bounded_on_all_streams_together(
    certificate: Certificate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(routes, "MAX_UNFINISHED_BYTES", 130_000)
    event = part(bytes(40_000), text=False)
    async with rig(certificate) as it:
        streams = [await it.stream() for _ in range(4)]
        for stream, _ in streams[:2]:
            await it.client.send_all(stream, event[:-1])
        await it.client.send_all(streams[2][0], event * 4 + event[:-1])
        for _ in range(4):
            await streams[2][1].frame()
        await it.client.send_all(streams[3][0], event[:-1])
        response = await it.client.ended(streams[3][0])
        assert b'"ErrorCode": "ServiceUnavailable"' in response.body
        # Each of the others goes on, and what is complete makes room.
        it.client.send(streams[0][0], event[-1:])
        await streams[0][1].frame()
        await it.client.send_all((await it.stream())[0], event[:-1])
        assert not it.client.responses[streams[1][0]].ended
        await it.client.send_all(streams[1][0], event[-1:])
        await streams[1][1].frame()
