"""What a Qwen3-TTS CustomVoice checkpoint accepts, and how vLLM-Omni refuses the rest.

Facts of `vllm_omni/entrypoints/openai/tts_adapters/qwen3_tts.py` in the vllm-omni wheels 0.30.0 and 0.26.0:
the names, the limits, the texts of the messages and the order in which they are found.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Literal
from urllib.parse import urlparse

from antiphon.engines.contract import SpeechUnit

type Release = Literal["0.30", "0.26"]

MODEL = "Qwen/Qwen3-TTS-12Hz-1.7B-CustomVoice"
SAMPLE_RATE = 24_000
VOICES = ("vivian", "serena", "uncle_fu", "dylan", "eric", "ryan", "aiden", "ono_anna", "sohee")
LANGUAGES = (
    "Chinese",
    "English",
    "Japanese",
    "Korean",
    "German",
    "French",
    "Russian",
    "Portuguese",
    "Spanish",
    "Italian",
)
FRAME_MS = 80
DEFAULT_NEW_TOKENS = 2048
MAX_NEW_TOKENS = 4096
MAX_INSTRUCTIONS = 500
EMBEDDING_DIMENSIONS = 2048

_TASK = "CustomVoice"
_REF_AUDIO_SCHEMES = frozenset({"http", "https", "data", "file"})
_REF_TEXT_NEEDED = (
    "Base task requires non-empty 'ref_text' (transcript of the reference audio) unless 'x_vector_only_mode' is enabled"
)
_BAD_REF_AUDIO = "ref_audio must be a URL (http/https), base64 data URL (data:...), or file URI (file://...)"

type _Check = Callable[[SpeechUnit], str | None]


def refusal(unit: SpeechUnit, release: Release = "0.30") -> str | None:
    """Return the first reason why `unit` cannot be spoken, in the words of vLLM-Omni `release`; None if it can."""
    effective = replace(unit, task_type=_effective_task(unit))
    return next((message for check in _CHECKS[release] if (message := check(effective))), None)


def _effective_task(unit: SpeechUnit) -> str:
    if unit.task_type:
        return unit.task_type
    clones = unit.task_type is None and (unit.ref_audio is not None or unit.ref_text is not None)
    return "Base" if clones else _TASK


def _variant(unit: SpeechUnit) -> str | None:
    if unit.task_type == _TASK:
        return None
    return (
        f"Qwen3-TTS {_TASK} checkpoint does not support task_type='{unit.task_type}'. "
        f"Use task_type='{_TASK}' or load the matching {unit.task_type} checkpoint."
    )


def _text(unit: SpeechUnit) -> str | None:
    return None if unit.text.strip() else "Input text cannot be empty"


def _language(unit: SpeechUnit) -> str | None:
    supported = {*LANGUAGES, "Auto"}
    if unit.language is None or unit.language.title() in supported:
        return None
    return f"Invalid language '{unit.language.title()}'. Supported: {', '.join(sorted(supported))}"


def _voice(unit: SpeechUnit) -> str | None:
    if unit.task_type != _TASK or unit.voice is None or unit.voice.lower() in VOICES:
        return None
    return f"Invalid voice '{unit.voice.lower()}'. Supported: {', '.join(sorted(VOICES))}"


def _embedding(unit: SpeechUnit) -> str | None:
    if unit.speaker_embedding is None:
        return None
    if unit.task_type != "Base":
        return "'speaker_embedding' is only valid for Base task"
    if not unit.speaker_embedding:
        return "'speaker_embedding' must be a non-empty list of floats"
    if (size := len(unit.speaker_embedding)) != EMBEDDING_DIMENSIONS:
        return (
            f"speaker_embedding has {size} dimensions; expected {EMBEDDING_DIMENSIONS} for the loaded Qwen3-TTS model"
        )
    return None


def _base(unit: SpeechUnit) -> str | None:
    if unit.task_type != "Base":
        return None
    if unit.voice is not None and unit.ref_audio is None:
        return f"Base task with built-in speaker '{unit.voice.lower()}' requires 'ref_audio' for voice cloning"
    if unit.ref_audio is None and unit.speaker_embedding is None:
        return "Base task requires 'ref_audio' or 'speaker_embedding' for voice cloning"
    if unit.ref_audio is not None and urlparse(unit.ref_audio).scheme.lower() not in _REF_AUDIO_SCHEMES:
        return _BAD_REF_AUDIO
    vector_only = unit.x_vector_only_mode or unit.speaker_embedding is not None
    return None if vector_only or (unit.ref_text or "").strip() else _REF_TEXT_NEEDED


def _only_for_base(unit: SpeechUnit) -> str | None:
    if unit.task_type == "Base":
        return None
    if unit.ref_text is not None:
        return "'ref_text' is only valid for Base task"
    if unit.x_vector_only_mode is not None:
        return "'x_vector_only_mode' is only valid for Base task"
    return None


def _instructions(unit: SpeechUnit) -> str | None:
    if unit.task_type == "VoiceDesign" and not unit.instructions:
        return "VoiceDesign task requires 'instructions' to describe the voice"
    if unit.instructions and len(unit.instructions) > MAX_INSTRUCTIONS:
        return f"Instructions too long (max {MAX_INSTRUCTIONS} characters)"
    return None


def _new_tokens(unit: SpeechUnit) -> str | None:
    if unit.max_new_tokens is None:
        return None
    if unit.max_new_tokens < 1:
        return "max_new_tokens must be at least 1"
    if unit.max_new_tokens > MAX_NEW_TOKENS:
        return f"max_new_tokens cannot exceed {MAX_NEW_TOKENS}"
    return None


_COMMON: tuple[_Check, ...] = (
    _text,
    _language,
    _voice,
    _embedding,
    _base,
    _only_for_base,
    _instructions,
    _new_tokens,
)
# 0.26 does not compare the task with the checkpoint, so its Base and VoiceDesign rules can be reached.
_CHECKS: dict[Release, tuple[_Check, ...]] = {"0.30": (_variant, *_COMMON), "0.26": _COMMON}
