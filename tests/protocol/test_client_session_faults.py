"""Servers that say one thing and do another: nobody may take the result for speech."""

import pytest
from tests.protocol.test_client_session import ANNA, done, error, opened, start

from antiphon.protocol.client_events import (
    ClientEvent,
    SessionFailed,
    SpeechAudio,
    SpeechDone,
    SpeechSkipped,
    SpeechStarted,
    UtteranceDone,
    UtteranceFailed,
)
from antiphon.protocol.client_session import ClientSession
from antiphon.protocol.messages import AudioDone, AudioStart

NO_WORDS = "the server reports a failure and does not say of what"
FAILED = AudioDone(utterance_index=0, error=True).to_json()


def asked() -> ClientSession:
    """A session that has sent one unit, the only one of its utterance."""
    session = opened()
    utterance = session.begin(ANNA)
    session.speak(utterance, "Hi there.", 0.0)
    session.finish(utterance, 0.0)
    return session


def received(session: ClientSession, *frames: str | bytes) -> list[ClientEvent]:
    return [event for frame in frames for event in session.receive(frame, 1.0)]


def test_a_unit_that_is_over_with_an_error_has_failed_whether_it_is_said_why_or_not() -> None:
    events = received(asked(), start(0), b"\1\0", FAILED, done(0))

    assert events == [
        SpeechStarted(0, 0, 24_000),
        SpeechAudio(0, 0, b"\1\0", 24_000),
        UtteranceFailed(0, 0, NO_WORDS, partial_audio=True),
    ]


@pytest.mark.parametrize("frames", [(error("boom"), FAILED), (FAILED, error("boom"))])
def test_the_reason_counts_on_either_side_of_the_end(frames: tuple[str, str]) -> None:
    assert received(asked(), start(0), *frames, done(0))[1:] == [UtteranceFailed(0, 0, "boom")]


def test_an_error_without_words_is_a_sentence() -> None:
    assert received(asked(), start(0), '{"type":"error"}')[1:] == [UtteranceFailed(0, 0, NO_WORDS)]
    assert received(opened(), '{"type":"error","message":" "}') == [SessionFailed(NO_WORDS, refused=True)]


def test_a_unit_in_which_the_server_finds_nothing_to_say_is_skipped_and_not_done() -> None:
    assert received(asked(), done(0)) == [SpeechSkipped(0, 0), UtteranceDone(0)]


def test_a_unit_that_is_started_and_has_no_audio_is_done() -> None:
    assert received(asked(), start(0), done(0))[1:] == [SpeechDone(0, 0, 1.0), UtteranceDone(0)]


@pytest.mark.parametrize("index", [1, 7, -1])
def test_speech_that_was_not_asked_for_is_the_end(index: int) -> None:
    assert received(asked(), start(index)) == [
        SessionFailed("the server speaks what it was not asked to", refused=False)
    ]


def test_speech_of_a_unit_that_is_over_is_the_end() -> None:
    assert isinstance(received(asked(), start(0), done(0), start(0))[-1], SessionFailed)


def test_audio_of_nothing_is_the_end() -> None:
    fault = SessionFailed("the server sends audio and does not say of what", refused=False)

    assert received(asked(), b"\1\0") == [fault]
    assert received(asked(), start(0), done(0), b"\1\0")[-1] == fault


@pytest.mark.parametrize("format_", ["mp3", "wav", "PCM", "\x1b[2J"])
def test_audio_in_another_format_is_the_end_rather_than_noise(format_: str) -> None:
    message = AudioStart(utterance_index=0, format=format_, sample_rate=24_000).to_json()

    [failed] = received(asked(), message)

    assert isinstance(failed, SessionFailed)
    assert "another format than PCM" in failed.message


def test_a_format_that_is_not_said_is_the_one_that_was_asked_for() -> None:
    message = AudioStart(utterance_index=0, sample_rate=24_000).to_json()

    assert received(asked(), message) == [SpeechStarted(0, 0, 24_000)]


@pytest.mark.parametrize("sample_rate", [0, -1, 768_001])
def test_a_sample_rate_that_there_is_not_is_none(sample_rate: int) -> None:
    [failed] = received(asked(), start(0, sample_rate))

    assert isinstance(failed, UtteranceFailed)
    assert "sample rate" in failed.message


def test_audio_that_ends_within_a_sample_is_the_end() -> None:
    events = received(asked(), start(0), b"\1", b"\2\3", done(0))

    assert events[1:] == [
        SpeechAudio(0, 0, b"\1\2", 24_000),
        SessionFailed("the server's audio ends within a sample", refused=False),
    ]


def test_what_nobody_listens_to_any_more_is_not_looked_at() -> None:
    session = asked()
    session.abandon(0, 0.0)
    message = AudioStart(utterance_index=0, format="mp3").to_json()

    assert received(session, message, b"\1", FAILED, done(0)) == []
