"""The `session.config` message: how a session's text is to be spoken.

The models carry the name of vLLM-Omni's ``StreamingSpeechSessionConfig`` as their title, so that the text of a
validation error, which the server sends to the client, reads the same.
"""

import json
from typing import Any, ClassVar, Literal

from pydantic import ConfigDict, Field, model_validator

from antiphon.protocol.speech_fields import INT64_MAX, INT64_MIN, SpeechFields

type Granularity = Literal["none", "sentence", "clause"]


class _ConfigFields(SpeechFields):
    """What all versions share; the subclasses only differ where the versions do."""

    model_config = ConfigDict(title="StreamingSpeechSessionConfig")

    streamed_speed_error: ClassVar[str]

    stream_audio: bool = False
    word_timestamps: bool = False

    @model_validator(mode="after")
    def _check_streaming(self) -> "_ConfigFields":
        if not self.stream_audio:
            return self
        if self.response_format != "pcm":
            raise ValueError(
                "WebSocket streaming audio (stream_audio=true) requires response_format='pcm'. "
                f"Got response_format='{self.response_format}'."
            )
        if self.speed not in (None, 1.0):
            raise ValueError(self.streamed_speed_error)
        return self


class SessionConfig(_ConfigFields):
    """How to speak: voice, format, splitting. Every field is optional and a new config replaces the whole old one.

    Attributes:
        stream_audio: True sends PCM as it is made, at the voice's own pace; False one binary frame with the whole
            file per unit.
        word_timestamps: needs a server with a forced aligner.
        split_granularity: where text becomes a unit before `input.done`.
    """

    type: ClassVar[str] = "session.config"
    streamed_speed_error: ClassVar[str] = (
        "WebSocket stream_audio=true currently requires speed=1.0; "
        "native speed control is only available through HTTP streaming."
    )

    seed: int | None = Field(default=None, ge=INT64_MIN, le=INT64_MAX)
    split_granularity: Literal["none", "sentence", "clause"] = "none"

    @classmethod
    def parse(cls, fields: dict[str, Any]) -> "SessionConfig":
        """Validate the fields of a message (without its ``type``) as vLLM-Omni 0.30 does.

        Raises:
            pydantic.ValidationError: its text is what the server answers.
        """
        return cls.model_validate(fields)

    @classmethod
    def parse_0_26(cls, fields: dict[str, Any]) -> "SessionConfig":
        """Validate as vLLM-Omni 0.26 and 0.28 do: ``seed`` and ``split_granularity`` are unknown, hence ignored.

        Raises:
            pydantic.ValidationError: its text is what the server answers.
        """
        known = _SessionConfig026.model_validate(fields)
        return cls.model_construct(known.model_fields_set, **dict(known))

    def to_json(self) -> str:
        """The message as a client sends it: only the fields that were given."""
        fields = self.model_dump(exclude_unset=True)
        return json.dumps({"type": self.type, **fields}, ensure_ascii=False, separators=(",", ":"))


class _SessionConfig026(_ConfigFields):
    streamed_speed_error: ClassVar[str] = (
        "Speed adjustment is not supported when stream_audio=true. Set speed=1.0 or omit it."
    )

    max_new_tokens: int | None = Field(default=None, ge=1)
    initial_codec_chunk_frames: int | None = Field(default=None, ge=0)
