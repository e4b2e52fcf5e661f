"""The body of ``POST /v1/audio/speech``.

Names, types and bounds are those of vLLM-Omni's ``OpenAICreateSpeechRequest``
(``vllm_omni/entrypoints/openai/protocol/audio.py``), as far as an engine here has a use for them; others are ignored.
"""

from dataclasses import dataclass
from typing import Any, Literal

from pydantic import Field, field_validator

from antiphon.protocol.speech_fields import INT64_MAX, INT64_MIN, SpeechFields
from antiphon.protocol.speech_request import SpeakerReference

STREAMABLE = frozenset({"pcm", "wav"})


class SpeechRequest(SpeechFields, SpeakerReference):
    """One text to speak, and how.

    Attributes:
        input: the text.
        voice: a name, or OpenAI's ``{"id": name}``; also read from ``speaker``; ``default`` is the model's own.
        stream_format: ``audio`` streams raw ``pcm`` or ``wav``; None sends the whole file.
        stream: vLLM-Omni's switch for server-sent events.
    """

    input: str
    stream_format: Literal["sse", "audio"] | None = None
    stream: bool = False
    seed: int | None = Field(default=None, ge=INT64_MIN, le=INT64_MAX)

    @field_validator("voice", mode="before")
    @classmethod
    def _name_of(cls, voice: Any) -> Any:
        if isinstance(voice, dict):
            if "id" not in voice:
                raise ValueError("voice dict must contain 'id'")
            return voice["id"]
        return voice


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request is not served.

    Attributes:
        message: for the client.
        param: the field at fault, where vLLM-Omni names it.
    """

    message: str
    param: str | None = None


def find_unstreamable(request: SpeechRequest) -> Refusal | None:
    """Why a request cannot be streamed as it asks to be; None when it can, or need not."""
    if request.stream_format == "sse" or (request.stream and request.stream_format is None):
        return Refusal("Server-sent events are not supported; set stream_format='audio' for a raw stream")
    if request.stream_format is None:
        return None
    if request.response_format not in STREAMABLE:
        return Refusal("Streaming needs response_format 'pcm' or 'wav'", param="response_format")
    if request.speed not in (None, 1.0):
        return Refusal(
            "Streaming is not supported with speed adjustment. Use a non-streaming request or remove the speed parameter."
        )
    return None
