"""Payload parts, the events of SageMaker's streams, and the WebSocket frames that they are to the container.

The mapping is one to one: ``UTF8`` is a text frame, ``BINARY`` (or nothing) a binary one; a ``PARTIAL`` part is a frame
without FIN, what follows it is its continuation until a ``COMPLETE`` (or nothing) ends the message (SageMaker developer
guide, "Custom inference code with hosting services", bidirectional streaming).
"""

import json
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from itertools import product

from antiphon.emulator.wire.event_headers import decode_headers, encode_header
from antiphon.emulator.wire.eventstream import encode, frame, split

_DATA_TYPES: dict[object, bool] = {"UTF8": True, "BINARY": False, None: False}
_COMPLETIONS: dict[object, bool] = {"COMPLETE": True, "PARTIAL": False, None: True}
_EVENT = {":message-type": "event", ":event-type": "PayloadPart", ":content-type": "application/octet-stream"}


class PartError(Exception):
    """A message is no part that may come here."""


class Opcode(IntEnum):
    """Of a WebSocket frame (RFC 6455 §5.2)."""

    CONT = 0
    TEXT = 1
    BINARY = 2


@dataclass(frozen=True, slots=True)
class Part:
    """What a client sends at once.

    Attributes:
        text: whether it is text.
        final: whether it ends its message.
        data: the bytes; text is UTF-8.
    """

    text: bool
    final: bool
    data: bytes


@dataclass(frozen=True, slots=True)
class Frame:
    """What the container gets at once.

    Attributes:
        opcode: text or binary on a message's first frame.
        fin: whether it ends its message.
        data: the bytes, unmasked.
        text: whether its message is text.
    """

    opcode: Opcode
    fin: bool
    data: bytes
    text: bool


def parse_part(inner: bytes) -> Part:
    """Decode the event inside a signed one.

    Raises:
        EventStreamError: it is no message.
        PartError: it is no payload part, or of an unknown kind.
    """
    headers, payload = split(inner)
    return Part(*_kind(headers), payload)


@lru_cache(maxsize=64)
def _kind(encoded: bytes) -> tuple[bool, bool]:
    """Tell from a part's headers whether it is text and whether it is final; there are few that differ."""
    headers = decode_headers(encoded)
    if headers.get(":message-type") != "event" or headers.get(":event-type") != "PayloadPart":
        raise PartError("an event is no PayloadPart")
    try:
        text = _DATA_TYPES[headers.get("DataType")]
        final = _COMPLETIONS[headers.get("CompletionState")]
    except KeyError:
        raise PartError("a part's DataType is UTF8 or BINARY, its CompletionState PARTIAL or COMPLETE") from None
    return text, final


class Assembler:
    """Turns a client's parts into frames; the first part of a message decides for all whether it is text."""

    def __init__(self) -> None:
        self._within = False
        self._text = False

    def frame(self, part: Part) -> Frame:
        """Return the frame that this part is."""
        if self._within:
            opcode = Opcode.CONT
        else:
            self._text = part.text
            opcode = Opcode.TEXT if part.text else Opcode.BINARY
        self._within = not part.final
        return Frame(opcode, part.final, part.data, self._text)


def _part_headers(text: bool, final: bool) -> bytes:
    kinds = {"DataType": "UTF8" if text else "BINARY", "CompletionState": "COMPLETE" if final else "PARTIAL"}
    return b"".join(encode_header(name, value) for name, value in {**_EVENT, **kinds}.items())


_PART_HEADERS = {(text, final): _part_headers(text, final) for text, final in product((True, False), repeat=2)}
_STREAM_HEADERS = b"".join(encode_header(name, value) for name, value in _EVENT.items())


def encode_part(data: bytes | bytearray | memoryview, text: bool, final: bool) -> bytes:
    """Encode a part for the client of a bidirectional stream.

    Raises:
        EventStreamError: the data is longer than an event may be.
    """
    return frame(_PART_HEADERS[text, final], data)


def encode_chunk(data: bytes) -> bytes:
    """Encode a part for the client of a response stream, which knows neither types nor completion.

    Raises:
        EventStreamError: the data is longer than an event may be.
    """
    return frame(_STREAM_HEADERS, data)


def encode_model_stream_error(message: str, error_code: str) -> bytes:
    """Encode the end of a stream whose container failed, or closed."""
    return _exception("ModelStreamError", {"Message": message, "ErrorCode": error_code})


def encode_internal_failure(message: str) -> bytes:
    """Encode the end of a stream in which the runtime failed."""
    return _exception("InternalStreamFailure", {"Message": message})


def _exception(name: str, body: dict[str, str]) -> bytes:
    headers = {":message-type": "exception", ":exception-type": name, ":content-type": "application/json"}
    return encode(headers, json.dumps(body).encode())
