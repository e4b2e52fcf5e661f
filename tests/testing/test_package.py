"""`antiphon.testing` as its users import it."""

import pytest

from antiphon import Audio, Voice, testing
from antiphon.engines.contract import SpeechUnit
from antiphon.engines.tone import ToneEngine


class UndiscerningEngine(ToneEngine):
    """Takes every request, also what it cannot speak."""

    def check(self, unit: SpeechUnit) -> None:
        """Refuse nothing."""


@pytest.mark.anyio
async def test_a_client_can_be_tried_without_a_server() -> None:
    endpoint = testing.FakeEndpoint()
    async with Voice(endpoint.connect()) as voice:
        heard = [event.data async for event in voice.say("Hello there.") if isinstance(event, Audio)]

    assert b"".join(heard) == testing.fake_speech("Hello there.")


def test_an_engine_can_be_put_to_the_test() -> None:
    testing.check_engine(ToneEngine())
    with pytest.raises(testing.ConformanceError, match="check accepts voice no-such-voice"):
        testing.check_engine(UndiscerningEngine())


def test_everything_that_is_promised_is_there() -> None:
    assert all(hasattr(testing, name) for name in testing.__all__)
    assert {"ENGINE_CHECKS", "Subject", "SlowEngine", "GatedEngine", "FailingEngine"} <= set(testing.__all__)
