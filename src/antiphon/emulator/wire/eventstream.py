"""The framing ``application/vnd.amazon.eventstream`` (Smithy specification, "Amazon Event Stream").

A message is ``total length u32 | headers length u32 | CRC-32 of both | headers | payload | CRC-32 of all before``,
big-endian.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from struct import Struct
from zlib import crc32

from antiphon.emulator.wire.event_headers import (
    EventStreamError,
    HeaderValue,
    Timestamp,
    decode_headers,
    encode_header,
)

__all__ = ["Decoder", "EventStreamError", "HeaderValue", "Message", "Timestamp", "decode", "encode", "frame", "split"]

MAX_HEADERS_BYTES = 128 * 2**10
MAX_PAYLOAD_BYTES = 16 * 2**20
_PRELUDE_BYTES = 12
_OVERHEAD_BYTES = 16

_PRELUDE = Struct(">III")
_LENGTHS = Struct(">II")
_U32 = Struct(">I")


@dataclass(frozen=True, slots=True)
class Message:
    """One message of an event stream."""

    headers: dict[str, HeaderValue]
    payload: bytes


def encode(headers: Mapping[str, HeaderValue], payload: bytes = b"") -> bytes:
    """Encode a message; an integer takes 4 bytes, or 8 where it must.

    Raises:
        EventStreamError: a header, the headers or the payload are too long.
    """
    return frame(b"".join(encode_header(name, value) for name, value in headers.items()), payload)


def frame(headers: bytes, payload: bytes | bytearray | memoryview) -> bytes:
    """Encode a message whose headers are encoded already.

    Raises:
        EventStreamError: the headers or the payload are too long.
    """
    _check_lengths(len(headers), len(payload))
    lengths = _LENGTHS.pack(_OVERHEAD_BYTES + len(headers) + len(payload), len(headers))
    message = b"".join((lengths, _U32.pack(crc32(lengths)), headers, payload))
    return message + _U32.pack(crc32(message))


def decode(data: bytes) -> Message:
    """Decode bytes that are exactly one message.

    Raises:
        EventStreamError: they are not.
    """
    headers, payload = split(data)
    return Message(decode_headers(headers), payload)


def split(data: bytes) -> tuple[bytes, bytes]:
    """Give the headers, still encoded, and the payload of bytes that are exactly one message.

    Raises:
        EventStreamError: they are not.
    """
    if len(data) < _OVERHEAD_BYTES or _total_bytes(data, 0) != len(data):
        raise EventStreamError("not exactly one message")
    return _parts(data)


class Decoder:
    """Decodes a stream of messages, however it is cut. Holds at most one incomplete message.

    After a failure it stays failed.
    """

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._wanted = _PRELUDE_BYTES
        self._failure = ""

    @property
    def pending_bytes(self) -> int:
        """Of a message that has begun and is not complete."""
        return len(self._buffer)

    def drop(self) -> None:
        """Let go what is pending; what would follow is no stream any more."""
        self._failure = self._failure or "the stream was dropped"
        self._buffer.clear()

    def feed(self, data: bytes) -> Iterator[Message]:
        """Take the next bytes; iterate over the messages they complete, then over no more than the error they hold.

        Raises:
            EventStreamError: after the messages before it; or at once, where an earlier call met one.
        """
        if self._failure:
            raise EventStreamError(self._failure)
        self._buffer += data
        if len(self._buffer) < self._wanted:
            return iter(())
        messages: list[Message] = []
        try:
            self._decode_into(messages)
        except EventStreamError as error:
            self._failure = str(error)
            self._buffer.clear()
            return _then_raise(messages, error)
        return iter(messages)

    def _decode_into(self, messages: list[Message]) -> None:
        buffer, at = self._buffer, 0
        try:
            while len(buffer) - at >= _PRELUDE_BYTES:
                total = _total_bytes(buffer, at)
                if len(buffer) - at < total:
                    self._wanted = total
                    return
                headers, payload = _parts(bytes(buffer[at : at + total]))
                messages.append(Message(decode_headers(headers), payload))
                at += total
            self._wanted = _PRELUDE_BYTES
        finally:
            del buffer[:at]


def _then_raise(messages: list[Message], error: EventStreamError) -> Iterator[Message]:
    yield from messages
    raise error


def _total_bytes(data: bytes | bytearray, at: int) -> int:
    """Read a prelude; nothing is waited for before its checksum and its lengths are known to be right."""
    total, headers, checksum = _PRELUDE.unpack_from(data, at)
    if crc32(data[at : at + 8]) != checksum:
        raise EventStreamError("a prelude does not match its checksum")
    payload = total - headers - _OVERHEAD_BYTES
    if payload < 0:
        raise EventStreamError("a message is shorter than its headers")
    _check_lengths(headers, payload)
    return int(total)


def _check_lengths(headers: int, payload: int) -> None:
    if headers > MAX_HEADERS_BYTES:
        raise EventStreamError(f"a message's headers take {headers} bytes, more than {MAX_HEADERS_BYTES}")
    if payload > MAX_PAYLOAD_BYTES:
        raise EventStreamError(f"a message's payload takes {payload} bytes, more than {MAX_PAYLOAD_BYTES}")


def _parts(data: bytes) -> tuple[bytes, bytes]:
    """Give the headers and the payload of a message whose prelude is known to be right."""
    end = len(data) - 4
    if crc32(memoryview(data)[:end]) != _U32.unpack_from(data, end)[0]:
        raise EventStreamError("a message does not match its checksum")
    headers_end = _PRELUDE_BYTES + _U32.unpack_from(data, 4)[0]
    return data[_PRELUDE_BYTES:headers_end], data[headers_end:end]
