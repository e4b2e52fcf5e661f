"""How something is to be spoken: the fields that a session's config and an HTTP request have in common.

Their bounds and their order are those of vLLM-Omni's ``StreamingSpeechSessionConfig`` and
``OpenAICreateSpeechRequest`` (``vllm_omni/entrypoints/openai/protocol/audio.py``).
"""

from typing import Literal

from pydantic import AliasChoices, BaseModel, ConfigDict, Field

INT64_MIN = -(2**63)
INT64_MAX = 2**63 - 1
MAX_EMBEDDING_DIM = 8192

type AudioFormat = Literal["wav", "pcm", "flac", "mp3", "opus"]


class SpeechFields(BaseModel):
    """What is common; a field that only some versions know is the subclasses'.

    Attributes:
        model: the model's id; an empty one is not checked.
        voice: a voice or alias, any case; also read from ``speaker``; None for the model's default.
        language: an English name; None for automatic.
        response_format: of the audio.
        speed: 1.0 is the voice's own pace, and so is None.
    """

    model_config = ConfigDict(frozen=True)

    model: str | None = None
    voice: str | None = Field(default=None, validation_alias=AliasChoices("voice", "speaker"))
    task_type: Literal["CustomVoice", "VoiceDesign", "Base"] | None = None
    language: str | None = None
    instructions: str | None = None
    response_format: Literal["wav", "pcm", "flac", "mp3", "opus"] = "wav"
    speed: float | None = Field(default=1.0, ge=0.25, le=4.0)
    max_new_tokens: int | None = Field(default=None, ge=1, le=INT64_MAX)
    initial_codec_chunk_frames: int | None = Field(default=None, ge=0, le=INT64_MAX)
    non_streaming_mode: bool | None = None
    ref_audio: str | None = None
    ref_text: str | None = None
    x_vector_only_mode: bool | None = None
    speaker_embedding: list[float] | None = Field(default=None, max_length=MAX_EMBEDDING_DIM)
