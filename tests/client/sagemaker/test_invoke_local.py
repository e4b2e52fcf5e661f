"""``sagemaker-invoke:`` through the local SageMaker: the real boto3, HTTP/1.1 over TLS, a server of ours."""

from collections.abc import Iterator

import pytest
from tests.client.listening import SENTENCES, STORY, audio, heard

import antiphon
from antiphon.client.errors import ConnectionLostError, GenerationError
from antiphon.client.events import UnitStarted
from antiphon.engines.tone import tone_length, tone_pcm
from antiphon.testing import LocalSageMaker

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("no_task_is_left")]


@pytest.fixture(scope="module")
def running() -> Iterator[LocalSageMaker]:
    with LocalSageMaker() as sagemaker:
        yield sagemaker


@pytest.fixture
def sagemaker(running: LocalSageMaker, aws: pytest.MonkeyPatch) -> Iterator[LocalSageMaker]:
    with running.applied():
        yield running


async def test_the_environment_alone_leads_there(sagemaker: LocalSageMaker) -> None:
    async with antiphon.connect("sagemaker-invoke://qwen3-tts", voice="ryan") as voice:
        events = await heard(voice.say(STORY))
        with pytest.raises(GenerationError, match="Invalid voice 'nobody'") as caught:
            await heard(voice.say(STORY, voice="nobody"))
        again = await heard(voice.say(STORY))

    assert [event.text for event in events if isinstance(event, UnitStarted)] == SENTENCES
    assert audio(events) == audio(again) == b"".join(tone_pcm(text, 0, tone_length(text)) for text in SENTENCES)
    assert not caught.value.partial_audio


async def test_an_endpoint_that_does_not_exist_is_told(sagemaker: LocalSageMaker) -> None:
    async with antiphon.connect("sagemaker-invoke://nowhere") as voice:
        with pytest.raises(ConnectionLostError, match="nowhere") as caught:
            await heard(voice.say(STORY))
    assert not caught.value.retryable


async def test_wrong_keys_are_told(sagemaker: LocalSageMaker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    async with antiphon.connect("sagemaker-invoke://qwen3-tts") as voice:
        with pytest.raises(ConnectionLostError, match="signature") as caught:
            await heard(voice.say(STORY))
    assert not caught.value.retryable
