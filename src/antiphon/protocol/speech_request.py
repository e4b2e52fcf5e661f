"""What the fields of a config or a request, each valid by itself, can still get wrong, with the texts of vLLM-Omni."""

import math
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, ValidationError, field_validator, model_validator

from antiphon.protocol.dialects import Dialect
from antiphon.protocol.session_config import SessionConfig

NO_ALIGNER = (
    "word_timestamps=true but the server was launched without --forced-aligner; either restart the server "
    "with that flag or set word_timestamps=false in session.config."
)


class SpeakerReference(BaseModel):
    """The part of a speech request that a valid config can still make invalid; titled so that its errors match."""

    model_config = ConfigDict(title="OpenAICreateSpeechRequest")

    ref_audio: str | None = None
    speaker_embedding: list[float] | None = None

    @field_validator("speaker_embedding")
    @classmethod
    def _check_finite(cls, value: list[float] | None) -> list[float] | None:
        if value and not all(map(math.isfinite, value)):
            raise ValueError("'speaker_embedding' values must be finite (no NaN or Inf)")
        return value

    @model_validator(mode="after")
    def _check_exclusive(self) -> Self:
        if self.speaker_embedding is not None and self.ref_audio is not None:
            raise ValueError("'speaker_embedding' and 'ref_audio' are mutually exclusive")
        return self


def no_such_model(name: str) -> str:
    """The message for a model that is not there."""
    return f"The model `{name}` does not exist."


def unknown_model(name: str) -> str:
    """The error of a session whose config names such a model: a Python repr, as vLLM-Omni sends it."""
    return f"error=ErrorInfo(message={no_such_model(name)!r}, type='NotFoundError', param='model', code=404)"


def find_invalid_request(text: str, config: SessionConfig, dialect: Dialect) -> str | None:
    """The error that ends the session because its config cannot become a request; None when it can."""
    if config.speaker_embedding is None:
        return None
    try:
        SpeakerReference.model_validate(_request_fields(text, config, dialect))
    except ValidationError as error:
        return f"Internal error: {error}"
    return None


def _request_fields(text: str, config: SessionConfig, dialect: Dialect) -> dict[str, Any]:
    """The request in stock's field order, for the error text quotes its beginning and its end."""
    fields: dict[str, Any] = {"input": text}
    own = {"stream_audio", "word_timestamps", "seed", "split_granularity"}
    fields |= {name: getattr(config, name) for name in SessionConfig.model_fields if name not in own}
    fields |= {"stream": config.stream_audio, "word_timestamps": config.word_timestamps}
    if "seed" in dialect.config_fields:
        fields["seed"] = config.seed
    return fields
