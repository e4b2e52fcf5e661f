"""Wire messages and session state machines. Pure: no event loop, no sockets, no clock."""

from antiphon.protocol.closing import CloseCause
from antiphon.protocol.dialects import DIALECT_0_26, DIALECT_0_30, DIALECTS, Dialect
from antiphon.protocol.limits import Limits
from antiphon.protocol.messages import (
    AudioChunkMessage,
    AudioDone,
    AudioStart,
    ClientMessage,
    ErrorMessage,
    InputDone,
    InputText,
    MalformedMessageError,
    ServerMessage,
    SessionClose,
    SessionConfig,
    SessionDone,
    UnknownMessage,
    WordTimestamp,
    parse_server_message,
)
from antiphon.protocol.session import SpeechSession
from antiphon.protocol.session_config import Granularity
from antiphon.protocol.speech_fields import AudioFormat
from antiphon.protocol.transitions import State

__all__ = [
    "DIALECTS",
    "DIALECT_0_26",
    "DIALECT_0_30",
    "AudioChunkMessage",
    "AudioDone",
    "AudioFormat",
    "AudioStart",
    "ClientMessage",
    "CloseCause",
    "Dialect",
    "ErrorMessage",
    "Granularity",
    "InputDone",
    "InputText",
    "Limits",
    "MalformedMessageError",
    "ServerMessage",
    "SessionClose",
    "SessionConfig",
    "SessionDone",
    "SpeechSession",
    "State",
    "UnknownMessage",
    "WordTimestamp",
    "parse_server_message",
]
