"""How text is to be spoken: the part of ``session.config`` that is the caller's to choose."""

from typing import Literal, TypedDict

from pydantic import ValidationError

from antiphon.client.errors import OptionError
from antiphon.protocol.messages import SessionConfig


class SpeechOptions(TypedDict, total=False):
    """What an utterance sounds like; the server's defaults hold for what is left out.

    The names and meanings are vLLM-Omni's (``vllm_omni/entrypoints/openai/protocol/audio.py``); a server ignores what it
    does not know. `speed` other than 1.0 cannot be streamed.
    """

    model: str | None
    voice: str | None
    language: str | None
    speed: float | None
    instructions: str | None
    task_type: Literal["CustomVoice", "VoiceDesign", "Base"] | None
    seed: int | None
    max_new_tokens: int | None
    initial_codec_chunk_frames: int | None
    non_streaming_mode: bool | None
    ref_audio: str | None
    ref_text: str | None
    x_vector_only_mode: bool | None
    speaker_embedding: list[float] | None


def session_config(options: SpeechOptions) -> SessionConfig:
    """The config to send: PCM, streamed, one unit per ``input.done``.

    Raises:
        OptionError: unknown, or with a value that no server takes.
    """
    unknown = sorted(set(options) - set(SpeechOptions.__annotations__))
    if unknown:
        known = ", ".join(SpeechOptions.__annotations__)
        raise OptionError(f"unknown option {', '.join(unknown)}; there are: {known}")
    given = {name: value for name, value in options.items() if value is not None}
    try:
        return SessionConfig.parse(
            {**given, "response_format": "pcm", "stream_audio": True, "split_granularity": "none"}
        )
    except ValidationError as error:
        raise OptionError("; ".join(_explain(error))) from None


def _explain(error: ValidationError) -> list[str]:
    # Without the input: it may be a recording.
    return [
        ": ".join([*(str(part) for part in item["loc"]), item["msg"].removeprefix("Value error, ")])
        for item in error.errors(include_url=False, include_input=False)
    ]
