"""The body of ``POST /v1/audio/speech``.

Names, types and bounds are those of vLLM-Omni's ``OpenAICreateSpeechRequest``
(``vllm_omni/entrypoints/openai/protocol/audio.py``), as far as an engine here has a use for them; others are ignored.
"""

from typing import Any, Literal

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, field_validator

from antiphon.protocol.session_config import INT64_MAX, INT64_MIN


class SpeechRequest(BaseModel):
    """One text to speak, and how.

    Attributes:
        input: the text.
        model: the model's id; None for whatever the server runs.
        voice: a name, or OpenAI's ``{"id": name}``; also read from ``speaker``; ``default`` is the model's own.
        response_format: of the audio.
        speed: 1.0 is the voice's own pace; must be that when streamed.
        stream_format: ``audio`` streams raw ``pcm`` or ``wav``; None sends the whole file.
        stream: vLLM-Omni's switch for server-sent events.
    """

    model_config = ConfigDict(frozen=True, title="OpenAICreateSpeechRequest")

    input: str
    model: str | None = None
    voice: str | None = Field(default=None, validation_alias=AliasChoices("voice", "speaker"))
    instructions: str | None = None
    response_format: Literal["wav", "pcm", "flac", "mp3", "opus"] = "wav"
    speed: float | None = Field(default=1.0, ge=0.25, le=4.0)
    stream_format: Literal["sse", "audio"] | None = None
    stream: bool = False
    task_type: Literal["CustomVoice", "VoiceDesign", "Base"] | None = None
    language: str | None = None
    max_new_tokens: int | None = Field(default=None, ge=1, le=INT64_MAX)
    seed: int | None = Field(default=None, ge=INT64_MIN, le=INT64_MAX)

    @field_validator("voice", mode="before")
    @classmethod
    def _name_of(cls, voice: Any) -> Any:
        if isinstance(voice, dict):
            if "id" not in voice:
                raise ValueError("voice dict must contain 'id'")
            return voice["id"]
        return voice
