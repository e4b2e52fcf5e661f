"""Configs: fields, defaults and error texts, for both versions of the protocol."""

import re
from typing import Any

import pytest
from pydantic import ValidationError

from antiphon.protocol import DIALECT_0_26, DIALECT_0_30, DIALECTS, Dialect, SessionConfig
from antiphon.protocol.speech_fields import INT64_MAX

BOTH = pytest.mark.parametrize("dialect", [DIALECT_0_30, DIALECT_0_26], ids=lambda dialect: dialect.name)


def refusal(dialect: Dialect, **fields: Any) -> str:
    with pytest.raises(ValidationError) as caught:
        dialect.parse_config(fields)
    return re.sub(r"/\d+\.\d+/", "/V/", str(caught.value))


def test_dialects_are_found_by_name() -> None:
    assert DIALECTS == {"0.30": DIALECT_0_30, "0.26": DIALECT_0_26}


@BOTH
def test_defaults(dialect: Dialect) -> None:
    config = dialect.parse_config({})
    assert config == SessionConfig()
    assert (config.response_format, config.speed, config.stream_audio) == ("wav", 1.0, False)
    assert (config.split_granularity, config.seed, config.voice) == ("none", None, None)


@BOTH
def test_speaker_is_voice_and_unknown_fields_are_ignored(dialect: Dialect) -> None:
    assert dialect.parse_config({"speaker": "Vivian", "sample_rate": 8000}).voice == "Vivian"
    assert dialect.parse_config({"speaker": "b", "voice": "a"}).voice == "a"


@BOTH
def test_an_error_reads_as_stock_pydantic_text(dialect: Dialect) -> None:
    assert refusal(dialect, response_format="ogg") == (
        "1 validation error for StreamingSpeechSessionConfig\nresponse_format\n"
        "  Input should be 'wav', 'pcm', 'flac', 'mp3' or 'opus' [type=literal_error, input_value='ogg', input_type=str]\n"
        "    For further information visit https://errors.pydantic.dev/V/v/literal_error"
    )


@BOTH
def test_streaming_needs_pcm(dialect: Dialect) -> None:
    assert refusal(dialect, stream_audio=True) == (
        "1 validation error for StreamingSpeechSessionConfig\n"
        "  Value error, WebSocket streaming audio (stream_audio=true) requires response_format='pcm'. "
        "Got response_format='wav'. [type=value_error, input_value={'stream_audio': True}, input_type=dict]\n"
        "    For further information visit https://errors.pydantic.dev/V/v/value_error"
    )


@pytest.mark.parametrize(
    ("dialect", "reason"),
    [
        (
            DIALECT_0_30,
            (
                "WebSocket stream_audio=true currently requires speed=1.0; "
                "native speed control is only available through HTTP streaming."
            ),
        ),
        (DIALECT_0_26, "Speed adjustment is not supported when stream_audio=true. Set speed=1.0 or omit it."),
    ],
)
def test_streaming_needs_speed_one(dialect: Dialect, reason: str) -> None:
    assert f"Value error, {reason} [" in refusal(dialect, stream_audio=True, response_format="pcm", speed=1.5)
    for speed in (None, 1, 1.0):
        dialect.parse_config({"stream_audio": True, "response_format": "pcm", "speed": speed})


@BOTH
@pytest.mark.parametrize(
    "fields",
    [
        {"speed": 0.24},
        {"speed": 4.01},
        {"speed": float("nan")},
        {"voice": 1},
        {"task_type": "Clone"},
        {"max_new_tokens": 0},
        {"initial_codec_chunk_frames": -1},
        {"speaker_embedding": [0.0] * 8193},
        {"speaker_embedding": "x"},
        {"ref_audio": ["a"]},
        {"stream_audio": None},
        {"word_timestamps": "perhaps"},
    ],
    ids=str,
)
def test_values_out_of_bounds_are_refused(dialect: Dialect, fields: dict[str, Any]) -> None:
    assert refusal(dialect, **fields).startswith("1 validation error for StreamingSpeechSessionConfig")


@BOTH
def test_values_at_the_bounds_are_accepted(dialect: Dialect) -> None:
    fields = {"speed": 0.25, "max_new_tokens": INT64_MAX, "initial_codec_chunk_frames": 0}
    config = dialect.parse_config(fields | {"speaker_embedding": [0.0] * 8192})
    assert config.model_dump(include=set(fields)) == fields
    assert dialect.parse_config({"speed": 4}).speed == 4.0


def test_0_30_bounds_integers_to_64_bits() -> None:
    for name in ("max_new_tokens", "initial_codec_chunk_frames", "seed"):
        assert "less than or equal to 9223372036854775807" in refusal(DIALECT_0_30, **{name: 2**63})
    assert "greater than or equal to -9223372036854775808" in refusal(DIALECT_0_30, seed=-(2**63) - 1)


def test_0_26_does_not() -> None:
    config = DIALECT_0_26.parse_config({"max_new_tokens": 2**63, "initial_codec_chunk_frames": 2**63})
    assert config.max_new_tokens == config.initial_codec_chunk_frames == 2**63


def test_0_30_checks_seed_and_granularity() -> None:
    assert "'none', 'sentence' or 'clause'" in refusal(DIALECT_0_30, split_granularity="word")
    config = DIALECT_0_30.parse_config({"seed": 7, "split_granularity": "clause"})
    assert (config.seed, config.split_granularity) == (7, "clause")


@pytest.mark.parametrize("fields", [{"seed": 7, "split_granularity": "clause"}, {"seed": "x", "split_granularity": 1}])
def test_0_26_ignores_seed_and_granularity_silently(fields: dict[str, Any]) -> None:
    config = DIALECT_0_26.parse_config(fields)
    assert (config.seed, config.split_granularity) == (None, "none")


def test_a_dialect_names_the_fields_it_knows() -> None:
    assert DIALECT_0_30.config_fields - DIALECT_0_26.config_fields == {"seed", "split_granularity"}
    assert DIALECT_0_26.config_fields < DIALECT_0_30.config_fields == set(SessionConfig.model_fields)
