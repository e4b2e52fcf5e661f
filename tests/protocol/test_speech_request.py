"""Requests that cannot be built."""

import re
from typing import Any

import pytest

from antiphon.protocol import DIALECT_0_26, DIALECT_0_30, Dialect
from antiphon.protocol.speech_request import find_invalid_request


def find(dialect: Dialect, **fields: Any) -> str | None:
    found = find_invalid_request("Hello.", dialect.parse_config(fields), dialect)
    return found and re.sub(r"/\d+\.\d+/", "/V/", found)


@pytest.mark.parametrize(
    ("dialect", "quoted"),
    [
        (DIALECT_0_30, "{'input': 'Hello.', 'mode...s': False, 'seed': None}"),
        (DIALECT_0_26, "{'input': 'Hello.', 'mode...word_timestamps': False}"),
    ],
)
def test_reference_audio_and_an_embedding_exclude_each_other(dialect: Dialect, quoted: str) -> None:
    assert find(dialect, ref_audio="a", speaker_embedding=[0.5]) == (
        "Internal error: 1 validation error for OpenAICreateSpeechRequest\n"
        "  Value error, 'speaker_embedding' and 'ref_audio' are mutually exclusive "
        f"[type=value_error, input_value={quoted}, input_type=dict]\n"
        "    For further information visit https://errors.pydantic.dev/V/v/value_error"
    )


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_an_embedding_must_be_finite(value: float) -> None:
    assert find(DIALECT_0_30, speaker_embedding=[value]) == (
        "Internal error: 1 validation error for OpenAICreateSpeechRequest\nspeaker_embedding\n"
        "  Value error, 'speaker_embedding' values must be finite (no NaN or Inf) "
        f"[type=value_error, input_value=[{value}], input_type=list]\n"
        "    For further information visit https://errors.pydantic.dev/V/v/value_error"
    )


@pytest.mark.parametrize("fields", [{}, {"ref_audio": "a"}, {"speaker_embedding": [0.5]}, {"speaker_embedding": []}])
def test_what_can_be_built(fields: dict[str, Any]) -> None:
    assert find(DIALECT_0_30, **fields) is None
