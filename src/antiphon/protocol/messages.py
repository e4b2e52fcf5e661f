"""The messages of ``/v1/audio/speech/stream``, typed.

What travels is one JSON object per text frame, and audio in binary frames. Names, fields and their order are
those of vLLM-Omni (``vllm_omni/entrypoints/openai/serving_speech_stream.py``).
"""

import json
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, ValidationError

from antiphon.protocol.session_config import Granularity, SessionConfig
from antiphon.protocol.speech_fields import AudioFormat

__all__ = [
    "AudioChunkMessage",
    "AudioDone",
    "AudioFormat",
    "AudioStart",
    "ClientMessage",
    "ErrorMessage",
    "Granularity",
    "InputDone",
    "InputText",
    "MalformedMessageError",
    "ServerMessage",
    "SessionClose",
    "SessionConfig",
    "SessionDone",
    "UnknownMessage",
    "WordTimestamp",
    "parse_server_message",
]


class MalformedMessageError(ValueError):
    """A text frame that is not a message of this protocol; the text says why and quotes nothing of it."""


class _Message(BaseModel):
    model_config = ConfigDict(frozen=True)

    type: ClassVar[str]

    def to_json(self) -> str:
        """The message as it travels: compact, non-ASCII as it is, fields that are None left out."""
        return _dump({"type": self.type, **self.model_dump(exclude_none=True)})


def _dump(payload: dict[str, Any]) -> str:
    return json.dumps(payload, ensure_ascii=False, separators=(",", ":"))


# Client to server.


class InputText(_Message):
    """More text; it is joined to what came before as it is, with no space between."""

    type: ClassVar[str] = "input.text"

    text: str = ""


class InputDone(_Message):
    """Flush: speak what is left, then `SessionDone`. The connection stays open."""

    type: ClassVar[str] = "input.done"


class SessionClose(_Message):
    """End the connection once everything flushed has been spoken; text that was not flushed is discarded."""

    type: ClassVar[str] = "session.close"


# Server to client. Only `type` is required of a server, so that a client also understands older and newer ones.


class AudioStart(_Message):
    """A unit begins; the binary frames until its `AudioDone` are its audio.

    Attributes:
        utterance_index: counts flushes since the connection opened, from 0.
        sentence_index: counts units since the last flush, from 0.
        sentence_text: what is spoken.
        format: of the audio: ``wav``, ``pcm``, ``flac``, ``mp3`` or ``opus``.
        sample_rate: samples per second; only with streamed PCM.
        word_timestamps: True when the audio comes in `AudioChunkMessage` instead of binary frames.
    """

    type: ClassVar[str] = "audio.start"

    utterance_index: int = 0
    sentence_index: int = 0
    sentence_text: str = ""
    format: str = ""
    sample_rate: int | None = None
    word_timestamps: bool | None = None


class WordTimestamp(BaseModel):
    """When a word is heard, in milliseconds since the unit's start."""

    model_config = ConfigDict(frozen=True)

    word: str
    start_ms: int
    end_ms: int


class AudioChunkMessage(_Message):
    """Audio as base64 of s16le mono PCM, sent only with word timestamps.

    Attributes:
        chunk_id: counts from 0 in each unit.
        chunk_start_ms: where the chunk begins in the unit.
        chunk_end_ms: where it ends.
        sample_rate: samples per second.
        audio_b64: empty in the unit's last one, which carries the timestamps.
        timestamps: None before they are known or when alignment failed, empty for silence.
    """

    type: ClassVar[str] = "audio.chunk"

    utterance_index: int = 0
    sentence_index: int = 0
    chunk_id: int = 0
    chunk_start_ms: int = 0
    chunk_end_ms: int = 0
    sample_rate: int | None = None
    audio_b64: str = ""
    timestamps: tuple[WordTimestamp, ...] | None = None

    def to_json(self) -> str:
        """As every message, but ``timestamps`` is null rather than absent."""
        return _dump({"type": self.type, **self.model_dump()})


class AudioDone(_Message):
    """A unit is over, spoken or not.

    Attributes:
        total_bytes: of the unit's binary frames.
        error: the unit failed; what was sent of it should be discarded.
    """

    type: ClassVar[str] = "audio.done"

    utterance_index: int = 0
    sentence_index: int = 0
    total_bytes: int | None = None
    error: bool = False


class SessionDone(_Message):
    """A flush is over; the session is not.

    Attributes:
        total_sentences: units in this flush, those that failed included.
    """

    type: ClassVar[str] = "session.done"

    utterance_index: int = 0
    total_sentences: int | None = None


class ErrorMessage(_Message):
    """Something was refused or failed.

    Attributes:
        message: for people; the protocol has no error codes.
        partial_audio: True when audio of the failing unit has been sent already.
        action: ``discard`` when `partial_audio`.
    """

    type: ClassVar[str] = "error"

    message: str = ""
    partial_audio: bool | None = None
    action: str | None = None


class UnknownMessage(BaseModel):
    """A message of a type that is not known here, to be ignored."""

    model_config = ConfigDict(frozen=True)

    type: str


type ClientMessage = SessionConfig | InputText | InputDone | SessionClose
type ServerMessage = AudioStart | AudioChunkMessage | AudioDone | SessionDone | ErrorMessage

_SERVER_MESSAGES: dict[str, type[AudioStart | AudioChunkMessage | AudioDone | SessionDone | ErrorMessage]] = {
    message.type: message for message in (AudioStart, AudioChunkMessage, AudioDone, SessionDone, ErrorMessage)
}


def parse_server_message(data: str) -> ServerMessage | UnknownMessage:
    """Read a text frame that a server sent; only ``type`` is required, unknown fields and types are ignored.

    Raises:
        MalformedMessageError: not a JSON object with a string ``type``, or a known field has a wrong type.
    """
    try:
        fields = json.loads(data)
    except (ValueError, RecursionError):
        raise MalformedMessageError("the server sent a text frame that is not JSON") from None
    kind = fields.get("type") if isinstance(fields, dict) else None
    if not isinstance(kind, str):
        raise MalformedMessageError("the server sent JSON that is not an object with a type")
    model = _SERVER_MESSAGES.get(kind)
    if model is None:
        return UnknownMessage(type=kind)
    try:
        return model.model_validate(fields)
    except ValidationError as error:
        names = ", ".join(sorted({str(item["loc"][0]) for item in error.errors(include_input=False)}))
        raise MalformedMessageError(f"the server sent {kind} with wrong values in: {names}") from None
