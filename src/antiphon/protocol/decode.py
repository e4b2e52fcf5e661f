"""Client frames -> what kind of message they are. Errors have the texts of vLLM-Omni."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from antiphon.protocol.limits import Limits
from antiphon.protocol.transitions import MessageKind

_KINDS: Mapping[str, MessageKind] = MappingProxyType(
    {kind.value: kind for kind in (MessageKind.CONFIG, MessageKind.TEXT, MessageKind.DONE, MessageKind.CLOSE)}
)


@dataclass(frozen=True, slots=True)
class ClientFrame:
    """A frame, understood as far as its kind.

    Attributes:
        kind: what it is.
        fields: the JSON object without its ``type``.
        type_name: its ``type`` as error texts quote it.
        error: what is wrong with a malformed or binary frame; None for others.
        chars: length of the frame.
    """

    kind: MessageKind
    fields: dict[str, Any] = field(default_factory=dict)
    type_name: str = ""
    error: str | None = None
    chars: int = 0


def decode(data: str | bytes, limits: Limits) -> ClientFrame:
    """Tell what a frame is; never raises."""
    if isinstance(data, bytes):
        return ClientFrame(MessageKind.BINARY, error="Internal error: 'text'")
    if len(data) > limits.max_message_chars:
        return _malformed("WebSocket message too large")
    try:
        fields = json.loads(data)
    except (ValueError, RecursionError):  # ValueError also stands for an integer of more than 4,300 digits
        return _malformed("Invalid JSON message")
    if not isinstance(fields, dict):
        return _malformed("WebSocket messages must be JSON objects")
    name = fields.pop("type", None)
    kind = _KINDS.get(name, MessageKind.UNKNOWN) if isinstance(name, str) else MessageKind.UNKNOWN
    if kind is not MessageKind.CONFIG and len(data) > limits.max_text_message_chars:
        return _malformed("input.text message too large")
    return ClientFrame(kind, fields, _quoted(name), chars=len(data))


def is_encodable(text: str) -> bool:
    r"""Whether text can be sent: JSON escapes such as ``\ud800`` can smuggle in halves of a surrogate pair."""
    return text.isascii() or encodable(text) == text


def encodable(text: str) -> str:
    r"""The text with each lone surrogate written as ``\udXXX``."""
    return text.encode("utf-8", "backslashreplace").decode()


def _malformed(error: str) -> ClientFrame:
    return ClientFrame(MessageKind.MALFORMED, error=error)


def _quoted(name: object) -> str:
    try:
        return str(name)
    except RecursionError:
        return "a deeply nested value"
