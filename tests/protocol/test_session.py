"""What a session answers to each message, row by row of the protocol."""

import json
from dataclasses import replace
from typing import Any

import pytest
from tests.protocol.driver import CLOSE, CONFIG, DONE, Driver, configured, message, text

from antiphon.protocol import DIALECT_0_26, DIALECT_0_30, Dialect, Limits, SessionConfig
from antiphon.protocol.events import (
    AudioChunk,
    CloseConnection,
    Disconnected,
    Flushed,
    Prepare,
    UnitCompleted,
    UnitReady,
)

BOTH = pytest.mark.parametrize("dialect", [DIALECT_0_30, DIALECT_0_26], ids=lambda dialect: dialect.name)
BAD_START = CloseConnection(1008, "a valid session.config must come first")


def error(value: str, **fields: Any) -> dict[str, Any]:
    return {"type": "error", "message": value, **fields}


def start(utterance: int, sentence: int, value: str) -> dict[str, Any]:
    index = {"utterance_index": utterance, "sentence_index": sentence}
    return {"type": "audio.start", **index, "sentence_text": value, "format": "pcm", "sample_rate": 24000}


def done(utterance: int, sentence: int, total_bytes: int, *, failed: bool = False) -> dict[str, Any]:
    index = {"utterance_index": utterance, "sentence_index": sentence}
    return {"type": "audio.done", **index, "total_bytes": total_bytes, "error": failed}


def session_done(utterance: int, total: int) -> dict[str, Any]:
    return {"type": "session.done", "utterance_index": utterance, "total_sentences": total}


# The normal course.


def test_units_play_one_after_another_and_the_next_one_is_prepared() -> None:
    driver = configured().client(text("One. Tw"), text("o. Three"), DONE)
    assert driver.take() == [start(0, 0, "One.")]
    assert [(unit.unit_id, unit.text) for unit in driver.prepared] == [(0, "One."), (1, "Two."), (2, "Three")]
    driver.audio(b"ab", b"", b"cd").complete()
    assert driver.take() == [b"ab", b"", b"cd", done(0, 0, 4), start(0, 1, "Two.")]
    assert driver.playing == 1
    assert driver.complete().audio(b"ef").complete().take() == [
        done(0, 1, 0),
        start(0, 2, "Three"),
        b"ef",
        done(0, 2, 2),
        session_done(0, 3),
    ]


def test_a_whole_file_is_one_frame_and_declares_no_sample_rate() -> None:
    driver = configured(stream_audio=False, response_format="flac").client(text("One."))
    driver.audio(b"fLaC....").complete()
    announced = {"type": "audio.start", "utterance_index": 0, "sentence_index": 0, "sentence_text": "One."}
    assert driver.take() == [announced | {"format": "flac"}, b"fLaC....", done(0, 0, 8)]


def test_whole_pcm_declares_no_sample_rate_either() -> None:
    (announced,) = configured(stream_audio=False).client(text("One.")).take()
    assert isinstance(announced, dict)
    assert "sample_rate" not in announced


@BOTH
def test_sentences_count_per_flush_and_utterances_per_session(dialect: Dialect) -> None:
    driver = configured(dialect)
    for utterance in range(3):
        driver.client(json.dumps(CONFIG), text("One."), DONE)
        assert driver.take() == [start(utterance, 0, "One.")]
        assert driver.complete().take() == [done(utterance, 0, 0), session_done(utterance, 1)]


@BOTH
def test_a_flush_of_nothing(dialect: Dialect) -> None:
    driver = configured(dialect).client(DONE, text("  "), DONE, DONE)
    assert driver.take() == [session_done(0, 0), session_done(1, 0), session_done(2, 0)]


def test_0_26_speaks_a_flush_as_one_unit() -> None:
    driver = configured(DIALECT_0_26).client(text("One. Two. "))
    assert driver.take() == []
    assert driver.client(DONE).take() == [start(0, 0, "One. Two.")]


def test_a_unit_keeps_the_config_of_its_text() -> None:
    driver = configured(voice="a").client(text("One."), DONE, json.dumps({"type": "session.config", "voice": "b"}))
    driver.client(text("Two."), DONE)
    assert [unit.config.voice for unit in driver.prepared] == ["a", "b"]
    assert driver.prepared[1] == Prepare(1, "Two.", SessionConfig(voice="b"))


def test_a_new_config_replaces_the_whole_old_one() -> None:
    driver = configured(voice="a", split_granularity="sentence")
    driver.client(message("session.config"), text("One. Two."), DONE)
    assert driver.prepared == [Prepare(0, "One. Two.", SessionConfig())]


def test_the_sample_rate_is_the_dialects() -> None:
    driver = configured(replace(DIALECT_0_30, sample_rate=8000))
    (announced,) = driver.client(text("One.")).take()
    assert isinstance(announced, dict)
    assert announced["sample_rate"] == 8000


# Before a valid config every fault ends the session (1008), and nothing else does.


@BOTH
@pytest.mark.parametrize(
    ("frame", "expected"),
    [
        ("{", "Invalid JSON message"),
        ("[]", "WebSocket messages must be JSON objects"),
        ("{}", "Expected session.config, got: None"),
        ('{"type":5}', "Expected session.config, got: 5"),
        (text("a"), "Expected session.config, got: input.text"),
        (message("input.text", text=1), "Expected session.config, got: input.text"),
        (DONE, "Expected session.config, got: input.done"),
        (CLOSE, "Expected session.config, got: session.close"),
        (message("ping"), "Expected session.config, got: ping"),
        (json.dumps(CONFIG | {"model": "nope"}), "no model nope"),
        ("x" * (4 * 2**20 + 1), "WebSocket message too large"),
        (text("x" * 2**17), "input.text message too large"),
    ],
)
def test_a_bad_start(dialect: Dialect, frame: str, expected: str) -> None:
    driver = Driver(dialect).client(frame)
    assert driver.take() == [error(expected), BAD_START]
    assert driver.session.closed
    assert driver.client(json.dumps(CONFIG), text("a."), DONE).take() == []


def test_an_invalid_first_config() -> None:
    failure, closing = Driver().client(message("session.config", speed=9)).take()
    assert isinstance(failure, dict)
    assert failure["message"].startswith(
        "Invalid session config: 1 validation error for StreamingSpeechSessionConfig\nspeed\n"
    )
    assert closing == BAD_START


def test_an_empty_model_is_not_checked() -> None:
    assert Driver().client(message("session.config", model=""), message("session.config", model="tone")).take() == []


# Afterwards faults are reported and the session goes on.


@BOTH
@pytest.mark.parametrize("opening", [(), (text("One"),)], ids=["idle", "utterance"])
@pytest.mark.parametrize(
    ("frame", "expected"),
    [
        ("{", "Invalid JSON message"),
        ("7", "WebSocket messages must be JSON objects"),
        (message("input.text", text=1), "input.text requires a string value"),
        (message("input.text", text=None), "input.text requires a string value"),
        (message("input.text", text=["a"]), "input.text requires a string value"),
        ("{}", "Unknown message type: None"),
        (message("input.cancel"), "Unknown message type: input.cancel"),
        (message("ping", x="y" * 2**17), "input.text message too large"),
        ("x" * (4 * 2**20 + 1), "WebSocket message too large"),
        ('{"type":"\\ud800"}', "Unknown message type: \\ud800"),
        (
            '{"type":"input.text","text":"a\\ud800"}',
            "input.text holds half of a surrogate pair, which is not a character",
        ),
        ('{"type":"input.done","x":' + "[" * 50_000 + "]" * 50_000 + "}", "Invalid JSON message"),
    ],
)
def test_a_fault_is_reported_and_the_session_goes_on(
    dialect: Dialect, opening: tuple[str, ...], frame: str, expected: str
) -> None:
    driver = configured(dialect).client(*opening, frame)
    assert driver.take() == [error(expected)]
    spoken = "".join(["One" for _ in opening]) + " two"
    assert driver.client(text(" two"), DONE).take() == [start(0, 0, spoken.strip())]


@pytest.mark.parametrize("fields", [{"speed": 9}, {"model": "nope"}, {"split_granularity": "word"}])
def test_a_failed_new_config_keeps_the_old(fields: dict[str, Any]) -> None:
    driver = configured(voice="a").client(json.dumps({"type": "session.config", "voice": "b", **fields}))
    assert len(driver.take_errors()) == 1
    assert driver.client(text("One.")).prepared[0].config.voice == "a"


def test_a_text_may_be_absent() -> None:
    assert configured().client(message("input.text"), DONE).take() == [session_done(0, 0)]


BUSY_0_30 = "session.config cannot be applied while an utterance is in progress; send input.done first"
BUSY_0_26 = "session.config cannot be applied while input is buffered; send input.done first"


@pytest.mark.parametrize(
    ("dialect", "value", "expected"),
    [
        (DIALECT_0_30, "One", [BUSY_0_30]),
        (DIALECT_0_30, " ", [BUSY_0_30]),
        (DIALECT_0_30, "One. ", [BUSY_0_30]),
        (DIALECT_0_30, "", []),
        (DIALECT_0_26, "One", [BUSY_0_26]),
        (DIALECT_0_26, "", [BUSY_0_26]),
    ],
)
def test_a_config_during_an_utterance(dialect: Dialect, value: str, expected: list[str]) -> None:
    driver = configured(dialect).client(text(value), json.dumps(CONFIG))
    while driver.playing is not None:
        driver.complete()
    assert driver.take_errors() == expected
    driver.client(DONE, json.dumps(CONFIG))
    assert driver.take_errors() == []


def test_in_an_utterance_a_config_is_refused_before_it_is_checked() -> None:
    assert configured().client(text("One"), message("session.config", speed=9)).take_errors() == [BUSY_0_30]


# What ends a configured session.


def test_close_speaks_what_was_flushed_and_discards_the_rest() -> None:
    driver = configured(split_granularity="none").client(text("One"), DONE, text("Two"), CLOSE, text("Three"), DONE)
    assert driver.take() == [start(0, 0, "One")]
    assert not driver.session.closed
    closing = CloseConnection(1000, "session.close")
    assert driver.complete().take() == [done(0, 0, 0), session_done(0, 1), closing]
    assert [unit.text for unit in driver.prepared] == ["One"]


def test_a_close_that_waits_for_nothing_is_immediate() -> None:
    driver = configured().client(text("One"), CLOSE)
    assert driver.take() == [CloseConnection(1000, "session.close")]
    assert driver.session.closed


@BOTH
@pytest.mark.parametrize("frame", [b"", b"\x00", DONE.encode()])
def test_a_binary_frame_ends_the_session_in_its_turn(dialect: Dialect, frame: bytes) -> None:
    closing = [error("Internal error: 'text'"), CloseConnection(1003, "binary frames are not accepted")]
    assert Driver(dialect).client(frame).take() == closing
    driver = configured(dialect).client(text("One."), DONE, frame, text("Two."), DONE)
    assert driver.take() == [start(0, 0, "One.")]
    assert driver.complete().take() == [done(0, 0, 0), session_done(0, 1), *closing]


@BOTH
def test_a_config_that_contradicts_itself_ends_the_session_when_a_unit_is_built(dialect: Dialect) -> None:
    driver = configured(dialect).client(text("Fine."), DONE)
    driver.client(json.dumps(CONFIG | {"ref_audio": "data:x", "speaker_embedding": [0.5]}))
    driver.client(text("One. Two. "), DONE, text("Three."), DONE)
    assert driver.take() == [start(0, 0, "Fine.")]
    *before, failure, closing = driver.complete().take()
    assert before == [done(0, 0, 0), session_done(0, 1)]
    assert isinstance(failure, dict)
    assert failure["message"].startswith("Internal error: 1 validation error for OpenAICreateSpeechRequest\n")
    assert closing == CloseConnection(1008, "invalid speech request")
    assert len(driver.prepared) == 1


def test_a_disconnect_overtakes_everything() -> None:
    driver = configured().client(text("One. Two. "), DONE, CLOSE)
    driver.take()
    driver.deliver(Disconnected())
    assert driver.aborted
    assert driver.session.closed
    driver.deliver(AudioChunk(b"late"))
    driver.deliver(UnitCompleted())
    assert driver.take() == []


# Failures of synthesis.


def failure(reason: str, sentence: int = 0, **fields: Any) -> dict[str, Any]:
    return error(f"Generation failed for utterance 0, sentence {sentence}: {reason}", **fields)


@BOTH
def test_a_unit_that_fails_before_any_audio(dialect: Dialect) -> None:
    driver = configured(dialect).client(text("One."), DONE).audio(b"").fail("Invalid voice 'x'")
    assert driver.take() == [
        start(0, 0, "One."),
        b"",
        failure("Invalid voice 'x'"),
        done(0, 0, 0, failed=True),
        session_done(0, 1),
    ]


@pytest.mark.parametrize(
    ("dialect", "marks"), [(DIALECT_0_30, {"partial_audio": True, "action": "discard"}), (DIALECT_0_26, {})]
)
def test_a_unit_that_fails_midway(dialect: Dialect, marks: dict[str, Any]) -> None:
    driver = configured(dialect).client(text("One."), DONE).audio(b"ab").fail("out of memory")
    assert driver.take()[2:] == [failure("out of memory", **marks), done(0, 0, 2, failed=True), session_done(0, 1)]


def test_the_units_after_a_failed_one_are_spoken() -> None:
    driver = configured().client(text("One. Two. "), DONE).audio(b"ab").fail().audio(b"cd").complete()
    assert driver.take()[4:] == [start(0, 1, "Two."), b"cd", done(0, 1, 2), session_done(0, 2)]


def test_a_fatal_failure_ends_the_session_and_drops_what_waits() -> None:
    driver = configured().client(text("One. Two. "), DONE, message("ping")).audio(b"ab").fail("worker died", fatal=True)
    assert driver.take()[2:] == [
        failure("worker died", partial_audio=True, action="discard"),
        done(0, 0, 2, failed=True),
        CloseConnection(1011, "synthesis is not possible"),
    ]
    assert driver.aborted
    assert driver.session.closed


def test_a_reason_that_cannot_be_encoded_is_written_out() -> None:
    assert configured().client(text("One.")).fail("\ud800").take_errors() == [
        "Generation failed for utterance 0, sentence 0: \\ud800"
    ]


@BOTH
@pytest.mark.parametrize("streamed", [True, False])
def test_word_timestamps_without_an_aligner(dialect: Dialect, streamed: bool) -> None:
    driver = configured(dialect, word_timestamps=True, stream_audio=streamed).client(text("One"), DONE)
    expected = (
        "word_timestamps=true but the server was launched without --forced-aligner; either restart the server "
        "with that flag or set word_timestamps=false in session.config."
    )
    assert driver.take() == [error(expected), session_done(0, 1)]
    assert driver.prepared == []


def test_word_timestamps_are_looked_at_before_the_request_is_built() -> None:
    driver = configured(word_timestamps=True, ref_audio="x", speaker_embedding=[0.5]).client(text("One"), DONE)
    assert len(driver.take_errors()) == 1
    assert not driver.session.closed


# Order.


def test_replies_wait_for_the_speech_before_them() -> None:
    driver = configured().client(text("One."), message("ping"), DONE, "{", json.dumps(CONFIG | {"speed": 9}))
    assert driver.take() == [start(0, 0, "One.")]
    kinds = [output["type"] for output in driver.complete().take() if isinstance(output, dict)]
    assert kinds == ["audio.done", "error", "session.done", "error", "error"]


def test_events_about_no_unit_are_ignored() -> None:
    driver = configured().audio(b"ab").complete().fail().fail(fatal=True)
    assert driver.take() == []
    assert not driver.session.closed


def test_units_from_nowhere_are_not_prepared() -> None:
    for driver in (Driver(), configured().client(text("One."), CLOSE)):
        driver.prepared.clear()
        driver.deliver(UnitReady("Two.", 0, 4))
        assert driver.prepared == []


def test_a_flush_from_nowhere_is_not_reported() -> None:
    driver = configured()
    driver.deliver(Flushed())
    assert driver.client(DONE).take() == [session_done(0, 0)]


def test_text_beyond_the_buffer_is_refused_whole() -> None:
    driver = configured(limits=Limits(max_buffered_chars=10)).client(text("One. Two"))
    driver.client(text("x" * 7))
    refusal = "input.text: at most 10 characters can be buffered"
    driver.client(text("x" * 6), text("x"), DONE)
    driver.complete().complete()
    assert driver.take_errors() == [refusal, refusal]
    assert driver.prepared[1].text == "Twoxxxxxx"
    assert driver.client(text("x" * 10)).take_errors() == []
