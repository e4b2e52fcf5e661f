import pytest
from tests.client.listening import heard

from antiphon.client import targets
from antiphon.client.errors import ConnectError, OptionError, ServerFaultError, SpeechError
from antiphon.client.events import Finished
from antiphon.client.targets import ConnectOptions
from antiphon.client.transport import Transport
from antiphon.client.voice import connect
from antiphon.testing.endpoint import FakeEndpoint

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("no_task_is_left")]


@pytest.fixture
def fake_scheme(monkeypatch: pytest.MonkeyPatch) -> FakeEndpoint:
    endpoint = FakeEndpoint()

    async def open_fake(target: str, options: ConnectOptions) -> Transport:
        if target != "fake:here":
            raise ConnectError("nobody there", retryable=True)
        return endpoint.connect()

    monkeypatch.setitem(targets._openers, "fake", open_fake)
    return endpoint


async def test_connect_can_be_awaited(fake_scheme: FakeEndpoint) -> None:
    voice = await connect("fake:here", voice="ryan")
    await heard(voice.say("Hello there."))
    await voice.aclose()

    assert fake_scheme.voices == ["ryan"]


async def test_connect_can_be_entered(fake_scheme: FakeEndpoint) -> None:
    async with connect("fake:here", language="English") as voice:
        events = await heard(voice.say("Hello there."))

    assert fake_scheme.received[0]["language"] == "English"
    assert fake_scheme.closed == 1
    assert isinstance(events[-1], Finished)
    assert events[-1].statistics.connect_s > 0


async def test_connect_passes_its_limits_on(fake_scheme: FakeEndpoint) -> None:
    fake_scheme.pause()
    async with connect("fake:here", response_timeout_s=0.05) as voice:
        with pytest.raises(ServerFaultError, match=r"silent for 0\.05 s"):
            await heard(voice.say("Hello there."))


async def test_connect_raises_what_the_transport_raises(fake_scheme: FakeEndpoint) -> None:
    with pytest.raises(ConnectError):
        async with connect("fake:elsewhere"):
            raise AssertionError
    with pytest.raises(SpeechError):
        await connect("fake:elsewhere")


async def test_options_are_checked_before_anything_is_opened(fake_scheme: FakeEndpoint) -> None:
    with pytest.raises(OptionError, match="colour"):
        await connect("fake:elsewhere", colour="red")  # type: ignore[call-arg] # the point
    with pytest.raises(OptionError, match=r"speed=1\.0"):
        await connect("fake:elsewhere", speed=1.5)
