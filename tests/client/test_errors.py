import pytest

from antiphon.client.errors import ConnectionLostError, GenerationError, SpeechError, TargetError
from antiphon.engines.contract import SpeechUnit
from antiphon.engines.tone import ToneEngine
from antiphon.scheduling import CapacityError, Scheduler


def failure(said: str) -> GenerationError:
    return GenerationError(f"Generation failed for utterance 0, sentence 0: {said}", unit=0, partial_audio=False)


@pytest.mark.parametrize(
    "said",
    [
        "Invalid voice 'x'. Supported: a, b",
        "hibari has no voice 'x'; it has: heart",
        "hibari speaks English, not French",
        "hibari cannot read 'こんにちは'",
        "CUDA out of memory",
        "",
    ],
)
def test_a_failed_generation_is_not_worth_another_try(said: str) -> None:
    assert not failure(said).retryable


@pytest.mark.anyio
async def test_but_it_is_when_our_server_has_no_room_or_ends() -> None:
    scheduler = Scheduler(ToneEngine(), workers=1, max_speaking=1)
    speaking, refused = scheduler.listener(), scheduler.listener()
    speaking.submit(SpeechUnit("Long enough to go on."), lambda: None)
    with pytest.raises(CapacityError) as no_room:
        refused.submit(SpeechUnit("Hello."), lambda: None)
    await scheduler.close()
    with pytest.raises(CapacityError) as ending:
        refused.submit(SpeechUnit("Hello."), lambda: None)

    assert failure(str(no_room.value)).retryable
    assert failure(str(ending.value)).retryable


def test_a_lost_connection_tells_what_is_known() -> None:
    assert str(ConnectionLostError(1006, "")) == "connection lost (code 1006)"
    assert str(ConnectionLostError(1012, "restart", "Idle")) == "connection lost (code 1012: restart; Idle)"


@pytest.mark.parametrize(
    ("code", "retryable"), [(1000, True), (1001, True), (1006, True), (1008, False), (1009, False)]
)
def test_a_lost_connection_is_worth_another_try_unless_it_was_our_fault(code: int, retryable: bool) -> None:
    assert ConnectionLostError(code, "").retryable is retryable


def test_a_wrong_target_is_a_value_error_and_not_worth_another_try() -> None:
    error: SpeechError = TargetError("no")

    assert isinstance(error, ValueError)
    assert not error.retryable
