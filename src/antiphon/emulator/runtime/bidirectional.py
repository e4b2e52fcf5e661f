"""InvokeEndpointWithBidirectionalStream: event parts on one side, WebSocket frames on the other."""

import asyncio
from dataclasses import asdict, dataclass
from itertools import product

from websockets.frames import CloseCode
from websockets.typing import BytesLike

from antiphon.emulator.runtime.alive import Alive
from antiphon.emulator.runtime.budget import Room
from antiphon.emulator.runtime.container import Target
from antiphon.emulator.runtime.input_frames import InputError, InputFrames
from antiphon.emulator.runtime.sidecar import Sidecar, SidecarError
from antiphon.emulator.runtime.stream import Stream, refuse
from antiphon.emulator.runtime.timings import Timings
from antiphon.emulator.wire import errors, parts
from antiphon.emulator.wire.errors import AwsError
from antiphon.emulator.wire.parts import Opcode

_REFUSED = "Failed to establish WebSocket connection"
_NOTES: dict[tuple[Opcode, bool, bool], dict[str, str | bool]] = {
    (opcode, fin, text): {
        "data_type": "UTF8" if text else "BINARY",
        "completion": "COMPLETE" if fin else "PARTIAL",
        "opcode": opcode.name,
        "fin": fin,
    }
    for opcode, fin, text in product(Opcode, (True, False), (True, False))
}
"""What the log says of a frame, by opcode, whether it ends its message, and whether that is text."""


@dataclass(slots=True)
class Totals:
    """Of one stream: payloads, without any framing."""

    bytes_in: int = 0
    bytes_out: int = 0
    parts_in: int = 0
    parts_out: int = 0


class Bidirectional:
    """Answers one bidirectional stream.

    Args:
        stream: The request.
        target: Who answers.
        path: Of the container's WebSocket, with its query.
        frames: Turns the input into frames for the container.
        timings: See `Timings`.
        sidecars: Where the container's connection is to be found while there is one.
        room: For events that were begun, on all streams together.
    """

    def __init__(  # noqa: PLR0913, PLR0917 - as many as a handler has to know
        self,
        stream: Stream,
        target: Target,
        path: str,
        frames: InputFrames,
        timings: Timings,
        sidecars: Alive[Sidecar],
        room: Room,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._stream = stream
        self._target = target
        self._path = path
        self._frames = frames
        self._timings = timings
        self._room = room
        self._sidecar = Sidecar(target.url, path, self, timings, sidecars)
        self._began = self._loop.time()
        self._opening: asyncio.Task[None] | None = None
        self._lifetime: asyncio.TimerHandle | None = None
        self._silence: asyncio.TimerHandle | None = None
        self._held = bytearray()
        self._held_credit = 0
        self._unfinished = 0
        self._input_flows = False
        self._output_flows = True
        self._client_ended = False
        self._input_ended = False
        self._heard = False
        self._drained = False
        self._done = False
        self._text = False
        self._totals = Totals()

    # From the client

    def begin(self) -> None:
        """Open the container's WebSocket."""
        self._opening = self._loop.create_task(self._open())

    def received(self, data: bytes, credit: int) -> None:
        """Pass on what is in a piece of the input, as soon as the container takes it."""
        self._held_credit += credit
        if self._input_flows:
            self._forward(data)
        else:
            self._held += data

    def ended(self) -> None:
        """Note the end of the input; the container may still have much to say."""
        self._client_ended = True
        if self._input_flows:
            self._forward(b"")

    def lost(self) -> None:
        """Close the container's WebSocket: nobody listens any more."""
        self._finish(CloseCode.GOING_AWAY)

    def pause_output(self) -> None:
        """Let the container wait for the client."""
        self._output_flows = False
        self._sidecar.pause_reading()

    def resume_output(self) -> None:
        """Let the container go on."""
        self._output_flows = True
        self._sidecar.resume_reading()

    def stop(self) -> None:
        """End the stream: the runtime stops."""
        if self._lifetime is None:
            self._refuse(errors.service_unavailable("the runtime is stopping"))
        else:
            self._stream.write(parts.encode_internal_failure("the runtime is stopping"))
            self._end(CloseCode.GOING_AWAY)

    # From the container

    def opened(self) -> None:
        """Let the client know at once: it may wait for it before it sends anything."""
        handshake_ms = round((self._loop.time() - self._began) * 1000, 3)
        self._stream.note("sidecar.opened", path=self._path.partition("?")[0], handshake_ms=handshake_ms)
        self._stream.start(
            200,
            (
                ("content-type", "application/vnd.amazon.eventstream"),
                ("x-amzn-invoked-production-variant", self._target.variant),
            ),
        )
        self._stream.note("response", status=200, error=None)
        self._lifetime = self._loop.call_later(self._timings.max_stream_s, self._expire)
        self.resume_input()

    def frame(self, opcode: Opcode, fin: bool, data: BytesLike) -> None:
        """Pass on a frame as the part that it is."""
        if self._done:
            return
        if opcode is not Opcode.CONT:
            self._text = opcode is Opcode.TEXT
        self._heard = True
        self._totals.parts_out += 1
        self._totals.bytes_out += len(data)
        self._stream.write(parts.encode_part(data, self._text, fin))
        self._stream.note("to_client", **_NOTES[opcode, fin, self._text], bytes=len(data))

    def pause_input(self) -> None:
        """Let the client wait for the container."""
        self._input_flows = False

    def resume_input(self) -> None:
        """Let the client go on."""
        if not self._done:
            self._input_flows = True
            held, self._held = bytes(self._held), bytearray()
            self._forward(held)

    def ping(self, missed: int) -> None:
        """Note it."""
        if missed:
            self._stream.note("pong.missed", missed=missed)
        self._stream.note("ping")

    def closed(self, code: int, reason: str, by: str) -> None:
        """End the stream: with an error, as SageMaker does whatever the code, unless it was the client's wish."""
        self._stream.note("sidecar.closed", code=code, by=by)
        if self._done:
            return
        if not (self._drained and by == "runtime"):
            message = f"WebSocket closed by the {by}: code={code}, reason={reason}"
            self._stream.write(parts.encode_model_stream_error(message, "StreamBroken"))
        self._end(None)

    # Between them

    async def _open(self) -> None:
        try:
            await self._sidecar.open()
        except SidecarError as error:
            self._refuse(self._target.model_error(f"{_REFUSED}: {error}", error.status or 0))
        except Exception as error:  # noqa: BLE001 - whatever went wrong, the client must not wait for ever
            self._refuse(errors.internal_server_error(f"{type(error).__name__} in the runtime"))

    def _forward(self, data: bytes) -> None:
        try:
            for frame in self._frames.feed(data):
                self._totals.parts_in += 1
                self._totals.bytes_in += len(frame.data)
                self._sidecar.send(frame)
                self._stream.note("to_container", **_NOTES[frame.opcode, frame.fin, frame.text], bytes=len(frame.data))
            if self._client_ended:
                self._frames.end()
        except InputError as error:
            self._fail(str(error), error.code)
            return
        finally:
            self._sidecar.flush()
        if not self._fits():
            self._fail("too much is held of events that were begun on this and other streams", "ServiceUnavailable")
            return
        credit, self._held_credit = self._held_credit, 0
        self._stream.credit(credit)
        if self._frames.ended and not self._input_ended:
            self._input_ended = True
            self._stream.note("input.ended", empty_event=self._frames.ended_by_event)
            self._silence = self._loop.call_later(self._timings.drain_s, self._drain)

    def _fits(self) -> bool:
        """Whether there is room for what is held: an event is taken whole, and may be as large as many windows."""
        before, self._unfinished = self._unfinished, self._frames.unfinished_bytes
        return before == self._unfinished or self._room.change(self._unfinished - before)

    def _drain(self) -> None:
        """Close the container's WebSocket, once it has been silent for a while after the end of the input."""
        if self._heard or not self._output_flows:
            self._heard = False
            self._silence = self._loop.call_later(self._timings.drain_s, self._drain)
        else:
            self._drained = True
            self._sidecar.close(CloseCode.NORMAL_CLOSURE)

    def _expire(self) -> None:
        self._fail(
            f"the stream lasted {self._timings.max_stream_s:g} s, the longest it may", "ModelInvocationTimeExceeded"
        )

    def _fail(self, message: str, code: str) -> None:
        self._stream.write(parts.encode_model_stream_error(message, code))
        self._end(CloseCode.GOING_AWAY)

    def _refuse(self, error: AwsError) -> None:
        refuse(self._stream, error)
        self._finish(None)

    def _end(self, close_code: int | None) -> None:
        self._stream.end()
        self._finish(close_code)

    def _finish(self, close_code: int | None) -> None:
        """Let everything go."""
        if self._done:
            return
        self._done = True
        self._input_flows = False
        self._held.clear()
        self._frames.drop()
        self._room.change(-self._unfinished)
        for timer in (self._lifetime, self._silence):
            if timer is not None:
                timer.cancel()
        if close_code is not None:
            self._sidecar.close(close_code)
        if self._opening is not None and self._opening is not asyncio.current_task():
            self._opening.cancel()
        seconds = round(self._loop.time() - self._began, 3)
        self._stream.note("stream.closed", seconds=seconds, **asdict(self._totals))
