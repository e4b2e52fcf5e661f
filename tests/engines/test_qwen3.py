"""The messages are those of vLLM-Omni's Qwen3-TTS adapter (wheels 0.30.0 and 0.26.0)."""

import pytest

from antiphon.engines.contract import SpeechUnit
from antiphon.engines.qwen3 import Release, refusal

VOICES = "aiden, dylan, eric, ono_anna, ryan, serena, sohee, uncle_fu, vivian"
LANGUAGES = "Auto, Chinese, English, French, German, Italian, Japanese, Korean, Portuguese, Russian, Spanish"
NOT_BASE = (
    "Qwen3-TTS CustomVoice checkpoint does not support task_type='Base'. "
    "Use task_type='CustomVoice' or load the matching Base checkpoint."
)
REF_TEXT = (
    "Base task requires non-empty 'ref_text' (transcript of the reference audio) unless 'x_vector_only_mode' is enabled"
)
REF_AUDIO = "ref_audio must be a URL (http/https), base64 data URL (data:...), or file URI (file://...)"


@pytest.mark.parametrize(
    "unit",
    [
        SpeechUnit("Hi"),
        SpeechUnit("Hi", voice="VIVIAN", language="english", task_type="CustomVoice"),
        SpeechUnit("Hi", voice="Uncle_Fu", language="Auto", instructions="x" * 500, max_new_tokens=4096),
        SpeechUnit("Hi", task_type=""),
        SpeechUnit("Hi", max_new_tokens=1),
        SpeechUnit("\U0001f600"),
    ],
)
@pytest.mark.parametrize("release", ["0.30", "0.26"])
def test_accepted(unit: SpeechUnit, release: Release) -> None:
    assert refusal(unit, release) is None


@pytest.mark.parametrize(
    ("unit", "message"),
    [
        (SpeechUnit("Hi", ref_audio="x"), NOT_BASE),
        (SpeechUnit("", ref_text="x"), NOT_BASE),
        (SpeechUnit(" \n"), "Input text cannot be empty"),
        (SpeechUnit("Hi", language="klingon", voice="x"), f"Invalid language 'Klingon'. Supported: {LANGUAGES}"),
        (SpeechUnit("Hi", voice="Default"), f"Invalid voice 'default'. Supported: {VOICES}"),
        (SpeechUnit("Hi", speaker_embedding=(0.1,)), "'speaker_embedding' is only valid for Base task"),
        (SpeechUnit("Hi", task_type="CustomVoice", ref_text="x"), "'ref_text' is only valid for Base task"),
        (SpeechUnit("Hi", x_vector_only_mode=False), "'x_vector_only_mode' is only valid for Base task"),
        (SpeechUnit("Hi", instructions="x" * 501), "Instructions too long (max 500 characters)"),
        (SpeechUnit("Hi", max_new_tokens=0), "max_new_tokens must be at least 1"),
        (SpeechUnit("Hi", max_new_tokens=4097), "max_new_tokens cannot exceed 4096"),
        (SpeechUnit("Hi", instructions="x" * 501, max_new_tokens=0), "Instructions too long (max 500 characters)"),
    ],
)
def test_refused_by_0_30(unit: SpeechUnit, message: str) -> None:
    assert refusal(unit) == message


@pytest.mark.parametrize(
    ("unit", "message"),
    [
        (
            SpeechUnit("Hi", ref_text="x"),
            "Base task requires 'ref_audio' or 'speaker_embedding' for voice cloning",
        ),
        (
            SpeechUnit("Hi", voice="Ryan", task_type="Base"),
            "Base task with built-in speaker 'ryan' requires 'ref_audio' for voice cloning",
        ),
        (SpeechUnit("Hi", ref_audio="audio.wav"), REF_AUDIO),
        (SpeechUnit("Hi", ref_audio="https://example.com/a.wav", ref_text=" "), REF_TEXT),
        (
            SpeechUnit("Hi", task_type="Base", speaker_embedding=()),
            "'speaker_embedding' must be a non-empty list of floats",
        ),
        (
            SpeechUnit("Hi", task_type="Base", speaker_embedding=(0.5,)),
            "speaker_embedding has 1 dimensions; expected 2048 for the loaded Qwen3-TTS model",
        ),
        (SpeechUnit("Hi", task_type="VoiceDesign"), "VoiceDesign task requires 'instructions' to describe the voice"),
        (SpeechUnit("Hi", ref_audio="data:audio/wav;base64,AA", x_vector_only_mode=True), None),
        (SpeechUnit("Hi", task_type="Base", speaker_embedding=(0.5,) * 2048), None),
    ],
)
def test_0_26_does_not_compare_the_task_with_the_checkpoint(unit: SpeechUnit, message: str | None) -> None:
    assert refusal(unit, "0.26") == message
