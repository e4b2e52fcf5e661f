"""The framing ``application/vnd.amazon.eventstream`` (Smithy specification, "Amazon Event Stream").

A message is ``total length u32 | headers length u32 | CRC-32 of both | headers | payload | CRC-32 of all before``,
big-endian; a header is ``name length u8 | name | type u8 | value``.
"""

import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from struct import Struct
from uuid import UUID
from zlib import crc32

MAX_HEADERS_BYTES = 128 * 2**10
MAX_HEADER_VALUE_BYTES = 2**15 - 1
MAX_PAYLOAD_BYTES = 16 * 2**20
_PRELUDE_BYTES = 12
_OVERHEAD_BYTES = 16
_INT32 = range(-(2**31), 2**31)

_PRELUDE = Struct(">III")
_LENGTHS = Struct(">II")
_U16 = Struct(">H")
_U32 = Struct(">I")
_I64 = Struct(">q")


class EventStreamError(Exception):
    """The bytes are no event stream, or more than one may hold."""


@dataclass(frozen=True, slots=True)
class Timestamp:
    """A moment in a header.

    Attributes:
        ms: since the Unix epoch.
    """

    ms: int


type HeaderValue = str | bytes | Timestamp | UUID | bool | int


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


def encode_header(name: str, value: HeaderValue) -> bytes:
    """Encode one header.

    Raises:
        EventStreamError: the name or the value is too long.
    """
    key = name.encode()
    if not 1 <= len(key) <= 255:
        raise EventStreamError(f"a header's name takes {len(key)} bytes; 1 to 255 are possible")
    return bytes((len(key),)) + key + _encode_value(value)


def _encode_value(value: HeaderValue) -> bytes:
    match value:
        case bool():
            return b"\x00" if value else b"\x01"
        case int() if value in _INT32:
            return b"\x04" + value.to_bytes(4, signed=True)
        case int():
            return b"\x05" + _i64(value)
        case bytes():
            return b"\x06" + _sized(value)
        case str():
            return b"\x07" + _sized(value.encode())
        case Timestamp(ms):
            return b"\x08" + _i64(ms)
        case UUID(bytes=identifier):
            return b"\x09" + identifier


def _i64(value: int) -> bytes:
    try:
        return _I64.pack(value)
    except struct.error:
        raise EventStreamError("a header's number takes more than 64 bits") from None


def _sized(value: bytes) -> bytes:
    if len(value) > MAX_HEADER_VALUE_BYTES:
        raise EventStreamError(f"a header's value takes {len(value)} bytes, more than {MAX_HEADER_VALUE_BYTES}")
    return _U16.pack(len(value)) + value


def decode(data: bytes) -> Message:
    """Decode bytes that are exactly one message.

    Raises:
        EventStreamError: they are not.
    """
    if len(data) < _OVERHEAD_BYTES or _total_bytes(data, 0) != len(data):
        raise EventStreamError("not exactly one message")
    return _message(data)


class Decoder:
    """Decodes a stream of messages, however it is cut. Holds at most one incomplete message.

    After a failure it stays failed.
    """

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._wanted = _PRELUDE_BYTES
        self._failure = ""

    @property
    def pending(self) -> bool:
        """Whether a message has begun and is not complete."""
        return bool(self._buffer)

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
                messages.append(_message(bytes(buffer[at : at + total])))
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


def _message(data: bytes) -> Message:
    """Decode a message whose prelude is known to be right."""
    end = len(data) - 4
    if crc32(memoryview(data)[:end]) != _U32.unpack_from(data, end)[0]:
        raise EventStreamError("a message does not match its checksum")
    headers_end = _PRELUDE_BYTES + _U32.unpack_from(data, 4)[0]
    return Message(_headers(data[_PRELUDE_BYTES:headers_end]), data[headers_end:end])


def _headers(data: bytes) -> dict[str, HeaderValue]:
    headers: dict[str, HeaderValue] = {}
    at, end, count = 0, len(data), 0
    try:
        while at < end:
            name_end = at + 1 + data[at]
            name = data[at + 1 : name_end].decode()
            headers[name], at = _READERS[data[name_end]](data, name_end + 1)
            count += 1
    except (IndexError, struct.error, ValueError):
        raise EventStreamError("a message's headers cannot be read") from None
    if at != end or len(headers) != count or "" in headers:
        raise EventStreamError("a message's headers are cut off, repeated or without a name")
    return headers


def _read_bytes(data: bytes, at: int) -> tuple[bytes, int]:
    end = at + 2 + _U16.unpack_from(data, at)[0]
    if end - at - 2 > MAX_HEADER_VALUE_BYTES:
        raise ValueError
    return data[at + 2 : end], end


def _read_string(data: bytes, at: int) -> tuple[str, int]:
    value, end = _read_bytes(data, at)
    return value.decode(), end


def _read_timestamp(data: bytes, at: int) -> tuple[Timestamp, int]:
    return Timestamp(_I64.unpack_from(data, at)[0]), at + 8


def _read_number(layout: Struct) -> Callable[[bytes, int], tuple[int, int]]:
    return lambda data, at: (layout.unpack_from(data, at)[0], at + layout.size)


_READERS: tuple[Callable[[bytes, int], tuple[HeaderValue, int]], ...] = (
    lambda _, at: (True, at),
    lambda _, at: (False, at),
    _read_number(Struct(">b")),
    _read_number(Struct(">h")),
    _read_number(Struct(">i")),
    _read_number(_I64),
    _read_bytes,
    _read_string,
    _read_timestamp,
    lambda data, at: (UUID(bytes=data[at : at + 16]), at + 16),
)
