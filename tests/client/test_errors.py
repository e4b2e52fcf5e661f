import pytest

from antiphon.client.errors import ConnectionLostError, GenerationError, SpeechError, TargetError


@pytest.mark.parametrize(
    ("said", "retryable"),
    [
        ("Invalid voice 'x'. Supported: a, b", False),
        ("Invalid language 'Elvish'. Supported: English", False),
        ("Qwen3-TTS CustomVoice checkpoint does not support task_type='Base'.", False),
        ("CustomVoice requires a 'voice' parameter when no default speaker is configured. Supported: a", False),
        ("Input text cannot be empty", False),
        ("CUDA out of memory", True),
        ("no capacity", True),
    ],
)
def test_a_generation_is_worth_another_try_unless_the_request_was_wrong(said: str, retryable: bool) -> None:
    message = f"Generation failed for utterance 0, sentence 0: {said}"

    assert GenerationError(message, unit=0, partial_audio=False).retryable is retryable


def test_a_lost_connection_tells_what_is_known() -> None:
    assert str(ConnectionLostError(1006, "")) == "connection lost (code 1006)"
    assert str(ConnectionLostError(1012, "restart", "Idle")) == "connection lost (code 1012: restart; Idle)"
    assert ConnectionLostError(1006, "").retryable


def test_a_wrong_target_is_a_value_error_and_not_worth_another_try() -> None:
    error: SpeechError = TargetError("no")

    assert isinstance(error, ValueError)
    assert not error.retryable
