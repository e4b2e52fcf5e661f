"""Client frames -> messages, or the error that answers them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from pydantic import ValidationError

from antiphon.protocol.decode import encodable, is_encodable
from antiphon.protocol.duplex.errors import ErrorCode
from antiphon.protocol.duplex.messages import (
    DIALECT,
    MAX_CONTEXT_ID_CHARS,
    ClientMessage,
    DuplexConfig,
    ErrorMessage,
    InputCancel,
    InputDone,
    InputFlush,
    InputText,
    Ping,
    SessionClose,
)
from antiphon.protocol.duplex.transitions import CONTEXT_MESSAGES, MessageKind
from antiphon.protocol.limits import Limits

_MODELS: Mapping[str, type[ClientMessage]] = MappingProxyType(
    {model.type: model for model in (DuplexConfig, InputText, InputFlush, InputDone, InputCancel, Ping, SessionClose)}
)
_QUOTED_CHARS = 64


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame, understood.

    Attributes:
        kind: what it is.
        content: the message, or the answer to a faulty frame.
    """

    kind: MessageKind
    content: ClientMessage | ErrorMessage


def decode(data: str | bytes, limits: Limits) -> Frame:
    """Tell what a frame says; never raises."""
    if isinstance(data, bytes):
        return _faulty(ErrorCode.BINARY_FRAME, "binary frames are not accepted; messages are JSON in text frames")
    if len(data) > limits.max_message_chars:
        return _too_large(limits.max_message_chars)
    try:
        fields = json.loads(data)
    except (ValueError, RecursionError):  # ValueError also stands for an integer of more than 4,300 digits
        return _faulty(ErrorCode.INVALID_MESSAGE, "the frame is not valid JSON")
    if not isinstance(fields, dict):
        return _faulty(ErrorCode.INVALID_MESSAGE, "a message is a JSON object")
    name = fields.pop("type", None)
    model = _MODELS.get(name) if isinstance(name, str) else None
    if model is None:
        return _faulty(ErrorCode.UNKNOWN_TYPE, f"unknown message type: {_quoted(name)}")
    if model is not DuplexConfig and len(data) > limits.max_text_message_chars:
        return _too_large(limits.max_text_message_chars)
    return _validate(model, fields)


def unsupported_dialect(name: str) -> ErrorMessage:
    """The answer to a config that names a dialect which is not spoken here."""
    text = f"dialect {_quoted(name)} is not supported; supported: {DIALECT}, or none for that of vLLM-Omni"
    return ErrorMessage.of(ErrorCode.UNSUPPORTED_DIALECT, text)


def _validate(model: type[ClientMessage], fields: dict[str, Any]) -> Frame:
    if model is DuplexConfig:
        return _validate_config(fields)
    context_id = fields.get("context_id")
    if MessageKind(model.type) in CONTEXT_MESSAGES and not _is_context_id(context_id):
        text = f"{model.type}: context_id must be a string of 1 to {MAX_CONTEXT_ID_CHARS} characters"
        return _faulty(ErrorCode.INVALID_CONTEXT_ID, text)
    concerned = context_id if MessageKind(model.type) in CONTEXT_MESSAGES else None
    if not all(is_encodable(value) for value in fields.values() if isinstance(value, str)):
        text = f"{model.type}: half of a surrogate pair is not a character"
        return _faulty(ErrorCode.INVALID_MESSAGE, text, concerned)
    try:
        message = model.model_validate(fields)
    except ValidationError as error:
        return _faulty(ErrorCode.INVALID_MESSAGE, f"{model.type}: {_explain(error)}", concerned)
    return Frame(_kind(message), message)


def _validate_config(fields: dict[str, Any]) -> Frame:
    dialect = fields.get("dialect")
    if isinstance(dialect, str) and dialect != DIALECT:
        return Frame(MessageKind.FAULTY, unsupported_dialect(dialect))
    try:
        return Frame(MessageKind.CONFIG, DuplexConfig.model_validate(fields))
    except ValidationError as error:
        return _faulty(ErrorCode.INVALID_CONFIG, f"session.config: {_explain(error)}")


def _kind(message: ClientMessage) -> MessageKind:
    if isinstance(message, InputText) and (message.voice, message.language, message.speed) != (None, None, None):
        return MessageKind.TEXT_WITH_OPTIONS
    return MessageKind(message.type)


def _is_context_id(value: object) -> bool:
    return isinstance(value, str) and 1 <= len(value) <= MAX_CONTEXT_ID_CHARS and is_encodable(value)


def _explain(error: ValidationError) -> str:
    """What is wrong, field by field, without the values."""
    return "; ".join(f"{'.'.join(map(str, each['loc'])) or 'it'}: {each['msg']}" for each in error.errors())


def _faulty(code: ErrorCode, text: str, context_id: str | None = None) -> Frame:
    return Frame(MessageKind.FAULTY, ErrorMessage.of(code, text, context_id))


def _too_large(most: int) -> Frame:
    return _faulty(ErrorCode.MESSAGE_TOO_LARGE, f"the frame has more than {most} characters")


def _quoted(name: object) -> str:
    if not isinstance(name, str):
        return "none" if name is None else "not a string"
    return encodable(name if len(name) <= _QUOTED_CHARS else f"{name[:_QUOTED_CHARS]}…")
