"""The headers of an event stream's message: ``name length u8 | name | type u8 | value``, one after another."""

import struct
from collections.abc import Callable
from dataclasses import dataclass
from struct import Struct
from uuid import UUID

MAX_HEADER_VALUE_BYTES = 2**15 - 1
_INT32 = range(-(2**31), 2**31)
_U16 = Struct(">H")
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


def decode_headers(data: bytes) -> dict[str, HeaderValue]:
    """Decode all headers of a message.

    Raises:
        EventStreamError: they are none, or one comes twice.
    """
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
