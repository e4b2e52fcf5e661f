"""The messages of ``antiphon/1``: one JSON object per text frame; audio travels in binary frames.

Every model refuses nothing it does not know: unknown fields are ignored, as in vLLM-Omni.
"""

import json
from typing import Annotated, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from antiphon.protocol.duplex.errors import MEANINGS, ErrorCode
from antiphon.protocol.speech_fields import INT64_MAX, INT64_MIN, SpeechFields

DIALECT = "antiphon/1"
MAX_CONTEXT_ID_CHARS = 64
MAX_CONTEXTS = 8
MAX_BACKLOG_BYTES = 256 * 1024
MAX_LEAD_MS = 10_000

type ContextId = Annotated[str, StringConstraints(min_length=1, max_length=MAX_CONTEXT_ID_CHARS)]
type MessageId = Annotated[str, StringConstraints(max_length=MAX_CONTEXT_ID_CHARS)]


class _Message(BaseModel):
    model_config = ConfigDict(frozen=True)

    type: ClassVar[str]

    def to_json(self) -> str:
        """The message as it travels: compact, fields that are None left out."""
        fields = {"type": self.type, **self.model_dump(exclude_none=True, mode="json")}
        return json.dumps(fields, ensure_ascii=False, separators=(",", ":"))


class _ClientMessage(_Message):
    model_config = ConfigDict(strict=True)


# Client to server.


class DuplexConfig(SpeechFields):
    """How contexts opened from now on are spoken; answered by `SessionReady`. The first also names the dialect.

    Attributes:
        dialect: `DIALECT`; a later config may omit it.
        stream_audio: only True.
        split_granularity: where text becomes a unit: ``auto`` as soon as it can be spoken well; ``none`` only at
            ``input.flush`` and ``input.done``; ``sentence`` and ``clause`` as vLLM-Omni.
        sample_rate: must be that of `SessionReady`, if given; the client converts.
        max_buffer_delay_ms: with ``auto``, how long a piece may wait for the rest of its unit.
        pace: ``listener`` stays at most `max_lead_ms` ahead of a real-time player; ``asap`` does not wait.
        max_lead_ms: audio ahead of playback, in milliseconds.
    """

    type: ClassVar[str] = "session.config"

    dialect: str | None = None
    response_format: Literal["pcm"] = "pcm"  # the only one that is streamed yet
    stream_audio: Literal[True] = True
    seed: int | None = Field(default=None, ge=INT64_MIN, le=INT64_MAX)
    split_granularity: Literal["auto", "none", "sentence", "clause"] = "auto"
    sample_rate: int | None = Field(default=None, ge=1)
    max_buffer_delay_ms: int | None = Field(default=None, ge=0, le=60_000)
    pace: Literal["listener", "asap"] = "listener"
    max_lead_ms: int = Field(default=2_000, ge=0, le=MAX_LEAD_MS)

    def to_json(self) -> str:
        """The message as a client sends it: only the fields that were given."""
        fields = {"type": self.type, **self.model_dump(exclude_unset=True)}
        return json.dumps(fields, ensure_ascii=False, separators=(",", ":"))


class InputText(_ClientMessage):
    """More text of a context, joined to what came before as it is. The first one opens the context, also when empty.

    Attributes:
        context_id: chosen by the client, never used twice.
        text: the piece.
        voice: of the context; only in its first message, like the next two.
        language: as in the config.
        speed: as in the config.
    """

    type: ClassVar[str] = "input.text"

    context_id: ContextId
    text: str = ""
    voice: str | None = None
    language: str | None = None
    speed: float | None = Field(default=None, ge=0.25, le=4.0)


class InputFlush(_ClientMessage):
    """Speak what there is; the context goes on. Answered by `InputFlushed`, after its last audio.

    Attributes:
        flush_id: chosen by the client, for the answer.
    """

    type: ClassVar[str] = "input.flush"

    context_id: ContextId
    flush_id: MessageId


class InputDone(_ClientMessage):
    """The context's text is complete; its `ContextDone` follows its last audio."""

    type: ClassVar[str] = "input.done"

    context_id: ContextId


class InputCancel(_ClientMessage):
    """Barge-in: drop the context, whatever it is doing. Overtakes everything; answered by `AudioCancelled`."""

    type: ClassVar[str] = "input.cancel"

    context_id: ContextId


class Ping(_ClientMessage):
    """Is anybody there? Overtakes everything; answered by `Pong`.

    Attributes:
        id: chosen by the client, for the answer.
    """

    type: ClassVar[str] = "ping"

    id: MessageId


class SessionClose(_ClientMessage):
    """End the connection once every context that is done has been spoken; the others are cancelled."""

    type: ClassVar[str] = "session.close"


# Server to client.


class SessionLimits(BaseModel):
    """What a session may ask for.

    Attributes:
        max_contexts: alive at once.
        max_context_id_chars: of a context's id.
        max_backlog_bytes: of text that waits, in UTF-8, over all contexts.
        max_text_message_chars: of one frame, JSON included.
        idle_timeout_s: without a message while nothing is spoken.
    """

    model_config = ConfigDict(frozen=True)

    max_contexts: int = MAX_CONTEXTS
    max_context_id_chars: int = MAX_CONTEXT_ID_CHARS
    max_backlog_bytes: int = MAX_BACKLOG_BYTES
    max_text_message_chars: int = 128 * 1024
    idle_timeout_s: float = 30.0


class SessionReady(_Message):
    """Answers a config.

    Attributes:
        dialect: that is spoken from now on.
        session_id: names the session in the server's log.
        engine: who speaks.
        sample_rate: of all audio, samples per second.
        deterministic: the same text always gives the same samples.
        formats: what ``response_format`` may be.
        capabilities: what this server can do beyond speaking: ``cancel``, ``flush``, ``ping``, ``spans``, ``auto``.
        limits: what the session may ask for.
    """

    type: ClassVar[str] = "session.ready"

    dialect: str = DIALECT
    session_id: str = ""
    engine: str = ""
    sample_rate: int = 24_000
    deterministic: bool = False
    formats: tuple[str, ...] = ("pcm",)
    capabilities: tuple[str, ...] = ("auto", "cancel", "flush", "ping", "spans")
    limits: SessionLimits = SessionLimits()


class AudioStart(_Message):
    """A unit begins; the binary frames until its end are its audio.

    Attributes:
        utterance_index: counts contexts over the session, from 0, in the order in which they speak or end.
        sentence_index: counts units in the context, from 0.
        sentence_text: what is spoken.
        format: of the audio.
        sample_rate: of the audio, samples per second.
        span: which code points of the context's input it speaks: from, up to but not including.
    """

    type: ClassVar[str] = "audio.start"

    context_id: ContextId
    utterance_index: int = 0
    sentence_index: int = 0
    sentence_text: str = ""
    format: str = "pcm"
    sample_rate: int = 24_000
    span: tuple[int, int] = (0, 0)


class AudioDone(_Message):
    """A unit is over, spoken or not.

    Attributes:
        utterance_index: as in `AudioStart`, like the next one.
        total_bytes: of its binary frames.
        error: it failed; an `ErrorMessage` said why.
        duration_ms: of its audio.
        first_chunk_ms: from when the unit could be worked on to its first chunk.
        rtf: seconds of synthesis per second of audio.
        characters: of `AudioStart.sentence_text`.
    """

    type: ClassVar[str] = "audio.done"

    context_id: ContextId
    utterance_index: int = 0
    sentence_index: int = 0
    total_bytes: int = 0
    error: bool = False
    duration_ms: float | None = None
    first_chunk_ms: float | None = None
    rtf: float | None = None
    characters: int | None = None


class ContextDone(_Message):
    """A context is over: everything of it was spoken. It has the name and the fields of vLLM-Omni's.

    Attributes:
        utterance_index: as in `AudioStart`.
        total_sentences: units in the context, those that failed included.
    """

    type: ClassVar[str] = "session.done"

    context_id: ContextId
    utterance_index: int = 0
    total_sentences: int = 0


class InputFlushed(_Message):
    """Everything up to the flush has been spoken.

    Attributes:
        flush_id: of the flush.
    """

    type: ClassVar[str] = "input.flushed"

    context_id: ContextId
    flush_id: MessageId


class AudioCancelled(_Message):
    """A context is over because it was cancelled; nothing of it follows, not even the end of its unit.

    Attributes:
        audio_samples_sent: of the whole context.
    """

    type: ClassVar[str] = "audio.cancelled"

    context_id: ContextId
    audio_samples_sent: int = 0


class Pong(_Message):
    """Answers `Ping`.

    Attributes:
        id: of the ping.
    """

    type: ClassVar[str] = "pong"

    id: MessageId


class ErrorMessage(_Message):
    """Something was refused or failed.

    Attributes:
        code: an `ErrorCode`; a client treats one that it does not know as `retryable` says.
        retryable: the same may succeed later.
        message: for people.
        context_id: of the context that it concerns.
    """

    type: ClassVar[str] = "error"

    code: str
    retryable: bool = False
    message: str = ""
    context_id: str | None = None

    @classmethod
    def of(cls, code: ErrorCode, message: str, context_id: str | None = None) -> "ErrorMessage":
        """Return the error that a code stands for."""
        return cls(code=code.value, retryable=MEANINGS[code].retryable, message=message, context_id=context_id)


type ContextMessage = InputText | InputFlush | InputDone | InputCancel
type ClientMessage = DuplexConfig | InputText | InputFlush | InputDone | InputCancel | Ping | SessionClose
type ServerMessage = (
    SessionReady | AudioStart | AudioDone | ContextDone | InputFlushed | AudioCancelled | Pong | ErrorMessage
)
