"""A listener that costs little: a WebSocket client as a bare asyncio protocol, so that load is the server's."""

import asyncio
import json
import struct
from dataclasses import dataclass, field

from antiphon.audio.measures import Arrival, worst_starvation_s
from antiphon.audio.pcm import BYTES_PER_SAMPLE
from antiphon.engines.tone import SAMPLE_RATE, tone_pcm

_HANDSHAKE = (
    "GET /v1/audio/speech/stream HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)
_TEXT, _BINARY, _CLOSE, _PING, _PONG = 0x1, 0x2, 0x8, 0x9, 0xA
_NO_MASK = bytes(4)  # a client must mask; this mask changes nothing
_UNMASKED_MAX = 125


@dataclass(slots=True)
class Heard:
    """What a listener received.

    Attributes:
        arrivals: when each chunk came, on the loop's clock, and its bytes.
        texts: of the units that were spoken.
        pcm: all audio, if it was kept.
        errors: messages of the server, and how the connection ended if it ended early.
    """

    arrivals: list[tuple[float, int]] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    pcm: bytearray = field(default_factory=bytearray)
    errors: list[str] = field(default_factory=list)

    def starvation_s(self, buffer_s: float) -> float:
        """The longest time that a player which waits `buffer_s` before it starts has nothing to play."""
        return worst_starvation_s((Arrival(at, _duration_s(size)) for at, size in self.arrivals), buffer_s)

    def lead_s(self) -> float:
        """The most audio that was ahead of a player which started with the first chunk."""
        received, most = 0.0, 0.0
        for at, size in self.arrivals:
            received += _duration_s(size)
            most = max(most, received - (at - self.arrivals[0][0]))
        return most

    def audio_s(self) -> float:
        """Playing time of all chunks."""
        return sum(_duration_s(size) for _, size in self.arrivals)

    def chunk_s(self) -> float:
        """The longest chunk."""
        return max((_duration_s(size) for _, size in self.arrivals), default=0.0)

    def exact(self) -> bool:
        """Whether the audio that was kept is, byte for byte, the tone of the units that were announced."""
        return bytes(self.pcm) == b"".join(map(tone_pcm, self.texts))


class Listener(asyncio.Protocol):
    """One connection. Await `open`, then `send`, then await `first_audio` or `done`.

    Args:
        keep: whether to keep the audio.
    """

    def __init__(self, *, keep: bool = False) -> None:
        loop = asyncio.get_running_loop()
        self.heard = Heard()
        self.open: asyncio.Future[None] = loop.create_future()
        self.first_audio: asyncio.Future[None] = loop.create_future()
        self.done: asyncio.Future[None] = loop.create_future()
        self._clock = loop.time
        self._keep = keep
        self._buffer = bytearray()
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Shake hands."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        host = "{}:{}".format(*transport.get_extra_info("peername"))
        transport.write(_HANDSHAKE.format(host=host).encode())

    def data_received(self, data: bytes) -> None:
        """Take frames apart."""
        self._buffer += data
        if not self.open.done() and not self._shake_hands():
            return
        while (frame := self._next_frame()) is not None:
            self._receive(*frame)

    def connection_lost(self, exc: Exception | None) -> None:
        """Note an early end."""
        if not self.done.done():
            self.heard.errors.append(f"connection lost: {exc}")
        if not self.open.done():
            self.open.set_exception(ConnectionError("no handshake"))
        for waiting in (self.first_audio, self.done):
            _resolve(waiting)

    def send(self, **message: object) -> None:
        """Send a message."""
        self._frame(_TEXT, json.dumps(message).encode())

    def close(self) -> None:
        """Send a close frame and hang up."""
        assert self._transport is not None
        self._frame(_CLOSE, struct.pack("!H", 1000))
        self._transport.close()

    def reset(self) -> None:
        """Be gone, without a word."""
        assert self._transport is not None
        self._transport.abort()

    def _shake_hands(self) -> bool:
        head, end, rest = self._buffer.partition(b"\r\n\r\n")
        if not end:
            return False
        if not head.startswith(b"HTTP/1.1 101"):
            self.open.set_exception(ConnectionError(head.partition(b"\r\n")[0].decode()))
            return False
        self._buffer = rest
        self.open.set_result(None)
        return True

    def _next_frame(self) -> tuple[int, bytes] | None:
        if len(self._buffer) < 2:
            return None
        start, size = 2, self._buffer[1]
        for marker, layout in ((126, "!H"), (127, "!Q")):
            if size == marker:
                start = 2 + struct.calcsize(layout)
                if len(self._buffer) < start:
                    return None
                (size,) = struct.unpack_from(layout, self._buffer, 2)
                break
        if len(self._buffer) < start + size:
            return None
        opcode, payload = self._buffer[0] & 0xF, bytes(self._buffer[start : start + size])
        del self._buffer[: start + size]
        return opcode, payload

    def _receive(self, opcode: int, payload: bytes) -> None:
        if opcode == _BINARY:
            if payload:
                self.heard.arrivals.append((self._clock(), len(payload)))
                _resolve(self.first_audio)
            if self._keep:
                self.heard.pcm += payload
        elif opcode == _TEXT:
            self._message(json.loads(payload))
        elif opcode == _PING:
            self._frame(_PONG, payload)

    def _message(self, message: dict[str, str]) -> None:
        if message["type"] == "audio.start":
            self.heard.texts.append(message["sentence_text"])
        elif message["type"] == "error":
            self.heard.errors.append(message["message"])
        elif message["type"] == "session.done":
            _resolve(self.done)

    def _frame(self, opcode: int, payload: bytes) -> None:
        assert self._transport is not None
        if len(payload) <= _UNMASKED_MAX:
            head = struct.pack("!BB", 0x80 | opcode, 0x80 | len(payload))
        else:
            head = struct.pack("!BBH", 0x80 | opcode, 0x80 | 126, len(payload))
        self._transport.write(head + _NO_MASK + payload)


def _resolve(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def _duration_s(size: int) -> float:
    return size / BYTES_PER_SAMPLE / SAMPLE_RATE


async def listen_to(address: tuple[str, int], *, keep: bool = False) -> Listener:
    """Connect."""
    _, listener = await asyncio.get_running_loop().create_connection(lambda: Listener(keep=keep), *address)
    await listener.open
    return listener
