import signal
import threading
import time
from collections.abc import Iterator

import pytest

from antiphon.client import targets
from antiphon.client.errors import ConnectError, OptionError, ServerFaultError, VoiceClosedError
from antiphon.client.events import Audio, Finished
from antiphon.client.sync import connect
from antiphon.client.targets import ConnectOptions
from antiphon.client.transport import Transport
from antiphon.testing.endpoint import FakeEndpoint, fake_speech


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> FakeEndpoint:
    endpoint = FakeEndpoint()

    async def open_fake(target: str, options: ConnectOptions) -> Transport:
        if target != "fake:here":
            raise ConnectError("nobody there", retryable=True)
        return endpoint.connect()

    monkeypatch.setitem(targets._openers, "fake", open_fake)
    return endpoint


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    yield
    deadline = time.monotonic() + 5  # a thread that reads text may have to be told first
    names = ["antiphon"]
    while names and time.monotonic() < deadline:
        names = [thread.name for thread in threading.enumerate() if thread.name.startswith("antiphon")]
    assert names == []


def words() -> Iterator[str]:
    yield from ["Hello ", "there, ", "my ", "friend. ", "And ", "goodbye ", "again."]


def test_a_generator_is_spoken_while_it_is_iterated(endpoint: FakeEndpoint) -> None:
    with connect("fake:here", voice="ryan") as voice:
        events = list(voice.say(words()))
        more = list(voice.say("Something else.", voice="vivian"))

    expected = fake_speech("Hello there, my friend.") + fake_speech("And goodbye again.")
    assert b"".join(event.data for event in events if isinstance(event, Audio)) == expected
    assert isinstance(more[-1], Finished)
    assert endpoint.voices == ["ryan", "ryan", "vivian"]
    assert endpoint.closed == 1


def test_an_utterance_can_be_written_and_then_heard(endpoint: FakeEndpoint) -> None:
    with connect("fake:here") as voice, voice.utterance(voice="ryan") as utterance:
        utterance.write("Hello ")
        utterance.write("there.")
        utterance.end()
        events = list(utterance)

        assert utterance.statistics.units == 1
        assert b"".join(event.data for event in events if isinstance(event, Audio)) == fake_speech("Hello there.")


def test_breaking_off_leaves_the_voice_fit_for_the_next_utterance(endpoint: FakeEndpoint) -> None:
    with connect("fake:here") as voice:
        for event in voice.say("One sentence. Another sentence. A third sentence. A fourth sentence."):
            if isinstance(event, Audio):
                break
        events = list(voice.say("Something else."))

    assert b"".join(event.data for event in events if isinstance(event, Audio)) == fake_speech("Something else.")


def test_a_source_that_raises_is_heard_of_and_the_voice_survives(endpoint: FakeEndpoint) -> None:
    def failing() -> Iterator[str]:
        yield "Hello. "
        raise LookupError("no more words")

    with connect("fake:here") as voice:
        with pytest.raises(LookupError, match="no more words"):
            list(voice.say(failing()))
        assert list(voice.say("Still here."))


def test_a_voice_that_is_closed_says_so(endpoint: FakeEndpoint) -> None:
    voice = connect("fake:here")
    utterance = voice.utterance()
    voice.close()
    voice.close()

    with pytest.raises(VoiceClosedError):
        utterance.write("Hello.")
    with pytest.raises(VoiceClosedError):
        list(voice.say("Hello."))
    with pytest.raises(VoiceClosedError):
        voice.utterance()


def test_connect_passes_its_limits_on(endpoint: FakeEndpoint) -> None:
    endpoint.pause()
    with connect("fake:here", response_timeout_s=0.05) as voice, pytest.raises(ServerFaultError, match="silent"):
        list(voice.say("Hello there."))


def test_what_cannot_be_opened_leaves_no_thread(endpoint: FakeEndpoint) -> None:
    with pytest.raises(ConnectError):
        connect("fake:elsewhere")
    with pytest.raises(OptionError):
        connect("fake:here", speed=3.0)


@pytest.mark.parametrize("attempt", range(20))
def test_closing_wakes_a_listener_in_another_thread(endpoint: FakeEndpoint, attempt: int) -> None:
    endpoint.pause()
    voice = connect("fake:here")
    outcome: list[BaseException] = []

    def listen() -> None:
        try:
            list(voice.say("Hello there."))
        except VoiceClosedError as error:
            outcome.append(error)

    listener = threading.Thread(target=listen)
    listener.start()
    while not endpoint.spoken:
        time.sleep(0.001)
    voice.close()
    listener.join(5)

    assert not listener.is_alive()
    assert len(outcome) == 1


def test_an_interrupt_while_waiting_leaves_the_voice_fit(
    endpoint: FakeEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    endpoint.pause()
    with connect("fake:here") as voice:
        events = voice.say("Hello there.")
        next(events)  # the unit has started; now it waits for audio
        interrupt = threading.Timer(0.1, _interrupt)
        interrupt.start()
        with pytest.raises(KeyboardInterrupt):
            next(events)
        interrupt.join()
        endpoint.resume()
        assert list(voice.say("Still here."))


def _interrupt() -> None:
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
