import json
from typing import Any

from antiphon.protocol.client_events import (
    SessionFailed,
    SpeechAudio,
    SpeechDone,
    SpeechStarted,
    UtteranceDone,
    UtteranceFailed,
)
from antiphon.protocol.client_session import KEEPALIVE_S, RESPONSE_TIMEOUT_S, ClientSession
from antiphon.protocol.messages import AudioDone, AudioStart, ErrorMessage, SessionConfig, SessionDone

ANNA = SessionConfig.parse({"voice": "anna", "response_format": "pcm", "stream_audio": True})
BERT = SessionConfig.parse({"voice": "bert", "response_format": "pcm", "stream_audio": True})


def sent(session: ClientSession) -> list[str]:
    """What is sent, in short: the voice of a config, the text of an input.text, ``!`` for input.done."""
    return [_short(json.loads(message)) for message in session.messages_to_send()]


def _short(message: dict[str, Any]) -> str:
    match message["type"]:
        case "session.config":
            return f"config {message['voice']}"
        case "input.text":
            return f"text {message['text']}".strip()
        case kind:
            return {"input.done": "!"}[kind]


def opened(**options: Any) -> ClientSession:
    session = ClientSession(ANNA, now=0.0, **options)
    assert sent(session) == ["config anna"]
    return session


def start(index: int, sample_rate: int | None = 24_000) -> str:
    return AudioStart(utterance_index=index, sentence_index=0, format="pcm", sample_rate=sample_rate).to_json()


def done(index: int) -> str:
    return SessionDone(utterance_index=index, total_sentences=1).to_json()


def error(message: str) -> str:
    return ErrorMessage(message=message).to_json()


def test_the_config_goes_out_at_once_and_says_how_the_audio_is_to_come() -> None:
    session = ClientSession(ANNA, now=0.0)

    [message] = session.messages_to_send()

    assert json.loads(message) == {
        "type": "session.config",
        "voice": "anna",
        "response_format": "pcm",
        "stream_audio": True,
    }
    assert not session.wants_to_send


def test_a_unit_is_one_text_and_one_done() -> None:
    session = opened()

    assert session.speak(session.begin(ANNA), "Hello.", 1.0) == 0

    assert session.wants_to_send
    assert sent(session) == ["text Hello.", "!"]


def test_at_most_one_unit_waits_at_the_server_behind_the_one_being_spoken() -> None:
    session = opened()
    utterance = session.begin(ANNA)
    for text in ("One.", "Two.", "Three.", "Four."):
        session.speak(utterance, text, 1.0)

    assert sent(session) == ["text One.", "!", "text Two.", "!"]
    session.receive(start(0), 2.0)
    session.receive(AudioDone(utterance_index=0).to_json(), 2.0)
    assert sent(session) == []  # the session.done counts, not the audio.done: only then the server reads on
    session.receive(done(0), 2.0)
    assert sent(session) == ["text Three.", "!"]
    assert session.waiting_characters == len("Four.")


def test_events_name_utterance_and_unit_by_the_wires_index() -> None:
    session = opened()
    first, second = session.begin(ANNA), session.begin(ANNA)
    session.speak(first, "One.", 0.0)
    session.finish(first, 0.0)
    session.speak(second, "Two.", 0.0)
    session.finish(second, 0.0)

    assert session.receive(start(0), 1.0) == [SpeechStarted(first, 0, 24_000)]
    assert session.receive(b"\1\0", 1.5) == [SpeechAudio(first, 0, b"\1\0", 24_000)]
    assert session.receive(done(0), 2.0) == [SpeechDone(first, 0, 1.5), UtteranceDone(first)]
    assert session.receive(start(1, 8_000), 3.0) == [SpeechStarted(second, 0, 8_000)]
    assert session.receive(b"\2\0", 4.0) == [SpeechAudio(second, 0, b"\2\0", 8_000)]
    # It was sent at 0 but could begin only when the first was over, at 2.
    assert session.receive(done(1), 5.0) == [SpeechDone(second, 0, 2.0), UtteranceDone(second)]


def test_an_utterance_waits_until_the_text_of_the_one_before_is_complete() -> None:
    session = opened()
    first, second = session.begin(ANNA), session.begin(ANNA)
    session.speak(first, "First.", 0.0)
    session.speak(second, "Second.", 0.0)

    assert sent(session) == ["text First.", "!"]
    session.finish(first, 0.0)
    assert sent(session) == ["text Second.", "!"]


def test_an_utterance_takes_its_place_with_its_first_unit() -> None:
    session = opened()
    silent, late, early = (session.begin(ANNA) for _ in range(3))
    session.speak(early, "Early.", 0.0)
    session.speak(late, "Late.", 0.0)
    session.finish(early, 0.0)
    assert sent(session) == ["text Early.", "!", "text Late.", "!"]

    session.finish(late, 0.0)
    session.receive(done(0), 1.0)
    session.receive(done(1), 1.0)
    session.speak(silent, "At last.", 2.0)
    assert sent(session) == ["text At last.", "!"]


def test_an_utterance_without_units_is_done_at_once() -> None:
    session = opened()
    utterance = session.begin(ANNA)

    assert session.finish(utterance, 0.0) == [UtteranceDone(utterance)]
    assert sent(session) == []


def test_the_config_is_sent_again_only_when_it_changes_and_between_utterances() -> None:
    session = opened()
    for config, text in ((ANNA, "a"), (BERT, "b"), (BERT, "c"), (ANNA, "d")):
        utterance = session.begin(config)
        session.speak(utterance, text, 0.0)
        session.finish(utterance, 0.0)
    messages = sent(session)
    for index in range(4):
        session.receive(done(index), 0.0)
        messages += sent(session)

    expected = "text a,!,config bert,text b,!,text c,!,config anna,text d,!"
    assert messages == expected.split(",")


def test_a_keepalive_is_an_empty_text_after_half_the_idle_limit() -> None:
    session = opened()

    assert session.next_deadline == KEEPALIVE_S
    assert session.tick(KEEPALIVE_S - 0.1) == []
    assert sent(session) == []
    session.tick(KEEPALIVE_S)
    assert sent(session) == ["text"]
    assert session.next_deadline == 2 * KEEPALIVE_S


def test_a_message_puts_the_keepalive_off() -> None:
    session = opened()
    session.speak(session.begin(ANNA), "Hello.", 10.0)
    session.receive(done(0), 11.0)

    assert session.next_deadline == 10.0 + KEEPALIVE_S


def test_keepalives_do_not_pile_up_behind_a_socket_that_takes_nothing() -> None:
    session = opened()
    for number in range(1, 100):
        session.tick(number * KEEPALIVE_S)

    assert sent(session) == ["text"]


def test_a_keepalive_is_flushed_before_a_new_config_which_0_26_would_refuse_otherwise() -> None:
    session = opened()
    session.tick(KEEPALIVE_S)
    first, second = session.begin(BERT), session.begin(BERT)
    session.speak(first, "Hello.", 20.0)
    session.finish(first, 20.0)
    session.speak(second, "Again.", 20.0)

    assert sent(session) == ["text", "!", "config bert", "text Hello.", "!", "text Again.", "!"]
    assert session.receive(done(0), 21.0) == []  # of the keepalive
    assert session.receive(start(1), 21.0) == [SpeechStarted(first, 0, 24_000)]


def test_text_of_the_same_config_needs_no_flush_after_a_keepalive() -> None:
    session = opened()
    session.tick(KEEPALIVE_S)
    session.speak(session.begin(ANNA), "Hello.", 20.0)
    session.tick(20.0 + KEEPALIVE_S)
    session.speak(session.begin(BERT), "Hello.", 40.0)

    assert sent(session) == ["text", "text Hello.", "!"]  # the second utterance waits for the first one's end


def test_an_abandoned_utterance_sends_nothing_more_and_its_late_audio_is_dropped() -> None:
    session = opened()
    stale, fresh = session.begin(ANNA), session.begin(ANNA)
    for text in ("One.", "Two.", "Three."):
        session.speak(stale, text, 0.0)
    session.receive(start(0), 1.0)
    sent(session)

    session.abandon(stale, 1.0)
    session.speak(fresh, "Fresh.", 1.0)

    assert session.waiting_characters == len("Fresh.")
    assert sent(session) == []  # both places at the server are taken, by speech that cannot be stopped
    assert session.receive(b"\1\0", 2.0) == []
    assert session.receive(done(0), 2.0) == []
    assert sent(session) == ["text Fresh.", "!"]
    assert session.receive(start(1), 3.0) == []
    assert session.receive(b"\1\0", 3.0) == []
    assert session.receive(error("Generation failed for utterance 1, sentence 0: no"), 3.0) == []
    assert session.receive(done(1), 3.0) == []
    assert session.receive(start(2), 4.0) == [SpeechStarted(fresh, 0, 24_000)]


def test_abandoning_twice_or_after_the_end_does_nothing() -> None:
    session = opened()
    utterance = session.begin(ANNA)
    session.finish(utterance, 0.0)

    session.abandon(utterance, 0.0)
    session.abandon(utterance, 0.0)

    assert sent(session) == []


def test_a_failed_generation_ends_its_utterance_and_not_the_session() -> None:
    session = opened()
    failing, healthy = session.begin(ANNA), session.begin(ANNA)
    for text in ("One.", "Two.", "Three."):
        session.speak(failing, text, 0.0)
    session.speak(healthy, "Healthy.", 0.0)
    session.receive(start(0), 1.0)
    session.receive(b"\1\0", 1.0)
    message = "Generation failed for utterance 0, sentence 0: boom"

    assert session.receive(error(message), 1.0) == [UtteranceFailed(failing, 0, message, partial_audio=True)]
    assert session.receive(AudioDone(error=True).to_json(), 1.0) == []
    assert session.receive(done(0), 1.0) == []
    assert session.receive(done(1), 1.0) == []  # "Two." had been sent already
    assert session.receive(start(2), 1.0) == [SpeechStarted(healthy, 0, 24_000)]


def test_a_generation_that_fails_before_it_starts_is_not_taken_for_a_refused_config() -> None:
    session = opened()
    utterance = session.begin(ANNA)
    session.speak(utterance, "One.", 0.0)
    message = "Generation failed for utterance 0, sentence 0: no capacity"

    assert session.receive(error(message), 1.0) == [UtteranceFailed(utterance, 0, message)]


def test_the_refusal_of_the_first_config_is_the_end() -> None:
    session = opened()

    assert session.receive(error("Invalid session config: …"), 1.0) == [
        SessionFailed("Invalid session config: …", refused=True)
    ]


def test_the_refusal_of_a_later_config_fails_what_would_be_spoken_under_the_old_one() -> None:
    session = opened()
    first, second, third = session.begin(ANNA), session.begin(BERT), session.begin(BERT)
    for utterance, text in ((first, "One."), (second, "Two."), (third, "Three.")):
        session.speak(utterance, text, 0.0)
        session.finish(utterance, 0.0)
    session.receive(start(0), 1.0)
    session.receive(done(0), 1.0)
    sent(session)

    assert session.receive(error("Invalid session config: voice"), 2.0) == [
        UtteranceFailed(second, None, "Invalid session config: voice"),
        UtteranceFailed(third, None, "Invalid session config: voice"),
    ]
    assert session.receive(start(1), 2.0) == []
    again = session.begin(BERT)
    session.speak(again, "Again.", 3.0)
    session.receive(done(1), 3.0)
    assert sent(session) == ["config bert", "text Again.", "!"]  # nothing is known of the config in force


def test_an_error_that_concerns_nothing_is_remembered() -> None:
    session = opened()
    session.speak(session.begin(ANNA), "One.", 0.0)
    session.receive(start(0), 1.0)
    session.receive(done(0), 1.0)

    assert session.receive(error("Idle timeout: no message received"), 40.0) == []
    assert session.last_error == "Idle timeout: no message received"


def test_audio_without_a_sample_rate_is_refused_rather_than_guessed() -> None:
    session = opened()
    utterance = session.begin(ANNA)
    session.speak(utterance, "One.", 0.0)

    [failed] = session.receive(start(0, None), 1.0)

    assert isinstance(failed, UtteranceFailed)
    assert "sample rate" in failed.message
    assert session.receive(b"\1\0", 1.0) == []


def test_samples_that_are_cut_in_two_are_joined_and_empty_frames_ignored() -> None:
    session = opened()
    session.speak(session.begin(ANNA), "One.", 0.0)
    session.receive(start(0), 1.0)

    audio = [session.receive(data, 1.0) for data in (b"", b"\1", b"\2\3", b"\4\5\6")]

    assert audio == [
        [],
        [],
        [SpeechAudio(0, 0, b"\1\2", 24_000)],
        [SpeechAudio(0, 0, b"\3\4\5\6", 24_000)],
    ]


def test_unknown_messages_and_ends_of_what_is_over_are_ignored() -> None:
    session = opened()

    assert session.receive('{"type":"session.ready","capabilities":[1]}', 0.0) == []
    assert session.receive(b"", 0.0) == []
    assert session.receive(done(7), 0.0) == []
    assert session.receive(AudioDone(utterance_index=7, error=True).to_json(), 0.0) == []


def test_what_is_no_message_is_the_end() -> None:
    for frame in ("}", "[]", '{"type":"session.done","utterance_index":"x"}'):
        [failed] = opened().receive(frame, 0.0)
        assert isinstance(failed, SessionFailed)
        assert not failed.refused


def test_messages_without_an_index_are_about_the_oldest_unit() -> None:
    session = opened()
    utterance = session.begin(ANNA)
    session.speak(utterance, "One.", 0.0)
    session.speak(utterance, "Two.", 0.0)
    session.finish(utterance, 0.0)
    begin = '{"type":"audio.start","sample_rate":24000}'

    assert session.receive(begin, 0.0) == [SpeechStarted(utterance, 0, 24_000)]
    assert session.receive('{"type":"session.done"}', 0.0) == [SpeechDone(utterance, 0, 0.0)]
    assert session.receive(begin, 0.0) == [SpeechStarted(utterance, 1, 24_000)]


def test_a_server_that_splits_a_unit_after_all_starts_it_once() -> None:
    session = opened()
    utterance = session.begin(ANNA)
    session.speak(utterance, "One. Two.", 0.0)

    assert len(session.receive(start(0), 0.0)) == 1
    session.receive(AudioDone(utterance_index=0).to_json(), 0.0)
    assert session.receive(start(0), 0.0) == []
    assert session.receive(b"\1\0", 0.0) == [SpeechAudio(utterance, 0, b"\1\0", 24_000)]


def test_a_lost_session_done_is_made_up_for_by_the_next_unit() -> None:
    session = opened()
    utterance = session.begin(ANNA)
    session.speak(utterance, "One.", 0.0)
    session.speak(utterance, "Two.", 0.0)
    session.receive(start(0), 0.0)

    assert session.receive(start(1), 1.0) == [SpeechDone(utterance, 0, 1.0), SpeechStarted(utterance, 1, 24_000)]


def test_held_units_are_sent_when_the_listener_has_caught_up() -> None:
    session = opened()
    session.hold(0.0, held=True)
    session.speak(session.begin(ANNA), "One.", 0.0)
    assert sent(session) == []

    session.hold(1.0, held=False)

    assert sent(session) == ["text One.", "!"]


def test_a_server_that_owes_speech_may_not_be_silent_for_ever() -> None:
    session = opened(keepalive_s=1000.0)
    session.speak(session.begin(ANNA), "One.", 10.0)
    assert session.next_deadline == 10.0 + RESPONSE_TIMEOUT_S
    session.receive(start(0), 50.0)

    assert session.tick(49.0 + RESPONSE_TIMEOUT_S) == []
    [failed] = session.tick(50.0 + RESPONSE_TIMEOUT_S)
    assert isinstance(failed, SessionFailed)
    assert "120 s" in failed.message


def test_the_silence_of_a_server_is_excused_while_nobody_listens_and_while_it_owes_nothing() -> None:
    session = opened()
    assert session.tick(10_000.0) == []
    session.speak(session.begin(ANNA), "One.", 10_000.0)

    assert session.tick(20_000.0, listening=False) == []
    assert session.tick(20_000.0 + RESPONSE_TIMEOUT_S - 1) == []


def test_surrogates_are_joined_or_replaced_because_utf_8_cannot_carry_them() -> None:
    session = opened()
    session.speak(session.begin(ANNA), "\ud83d\ude00 \ud83d x", 0.0)

    assert sent(session) == ["text 😀 \ufffd x", "!"]
