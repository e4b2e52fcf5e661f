"""What a page may ask, and what it is told."""

import json
from typing import Any

import pytest

from antiphon.client import Audio, Finished, GenerationError, Statistics, UnitDone, UnitSkipped, UnitStarted
from antiphon.studio.messages import (
    MAX_MESSAGE_BYTES,
    MAX_NAME,
    MAX_TEXT,
    RequestError,
    Speak,
    Stop,
    encode,
    encode_error,
    parse,
)

SPEAK: dict[str, Any] = {"type": "speak", "id": 1, "text": "Hello."}


def test_what_a_page_may_ask() -> None:
    assert parse('{"type": "stop"}') == Stop(type="stop")
    full = {**SPEAK, "voice": "vivian", "language": None, "tokens_per_second": 10}
    request = parse(json.dumps(full))
    assert isinstance(request, Speak)
    assert request.model_dump() == full
    assert parse(json.dumps(SPEAK)) == Speak(type="speak", id=1, text="Hello.")


@pytest.mark.parametrize(
    "message",
    [
        "",
        "[]",
        "{}",
        '{"type": "sing"}',
        '{"type": "stop", "more": 1}',
        *(json.dumps({**SPEAK, **wrong}) for wrong in (
            {"text": None},
            {"text": "x" * (MAX_TEXT + 1)},
            {"voice": "x" * (MAX_NAME + 1)},
            {"language": 3},
            {"id": -1},
            {"id": "1"},
            {"tokens_per_second": 0},
            {"tokens_per_second": 1001},
            {"more": 1},
        )),
        '{"type": "speak", "id": 1, "text": "\\ud800"}',
        '{"type": "speak", "id": 1, "text": "x", "tokens_per_second": NaN}',
    ],
)  # fmt: skip
def test_what_it_may_not(message: str) -> None:
    with pytest.raises(RequestError, match=r"^the page's request does not fit: ."):
        parse(message)


def test_a_refusal_repeats_nothing_of_the_request() -> None:
    with pytest.raises(RequestError) as caught:
        parse(json.dumps({**SPEAK, "text": "secret " * MAX_TEXT, "voice": 5}))
    assert "secret" not in str(caught.value)


def test_the_longest_text_fits_into_a_message_however_it_is_written() -> None:
    longest = json.dumps({**SPEAK, "text": "\N{GRINNING FACE}" * MAX_TEXT, "voice": "\N{GRINNING FACE}" * MAX_NAME})
    assert isinstance(parse(longest), Speak)
    assert len(longest) <= MAX_MESSAGE_BYTES


def test_what_a_page_is_told() -> None:
    assert encode(Audio(b"\1\2", 24_000, 0), 7) == b"\1\2"
    told = [
        encode(UnitStarted(0, "Hello.", 0, 6, 16_000), 7),
        encode(UnitDone(0, 0, 6, 0.5), 7),
        encode(UnitSkipped(1, "...", 6, 9), 7),
        encode(Finished(Statistics(chunks=2, first_chunk_s=0.25)), 7),
    ]
    started, done, skipped, finished = map(json.loads, told)
    assert started == {
        "type": "unit_started", "id": 7, "index": 0, "text": "Hello.", "start": 0, "end": 6, "sample_rate": 16_000,
    }  # fmt: skip
    assert done == {"type": "unit_done", "id": 7, "index": 0, "start": 0, "end": 6, "busy_s": 0.5}
    assert skipped == {"type": "unit_skipped", "id": 7, "index": 1, "text": "...", "start": 6, "end": 9}
    assert (finished["type"], finished["id"]) == ("finished", 7)
    assert (finished["statistics"]["chunks"], finished["statistics"]["first_chunk_s"]) == (2, 0.25)


def test_errors_say_whether_to_try_again() -> None:
    full = GenerationError("2 listeners are speaking, which is all this server can keep gap-free", unit=0, partial_audio=False)  # fmt: skip
    assert json.loads(encode_error(full, 3)) == {"type": "error", "id": 3, "message": str(full), "retryable": True}
    assert json.loads(encode_error(RequestError("no"), None)) == {
        "type": "error", "id": None, "message": "no", "retryable": False,
    }  # fmt: skip
