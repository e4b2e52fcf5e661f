"""What kind of message a frame is."""

import json
import sys

import pytest

from antiphon.protocol import Limits
from antiphon.protocol.decode import _quoted, decode, encodable, is_encodable
from antiphon.protocol.transitions import MessageKind

LIMITS = Limits(max_message_chars=200, max_text_message_chars=100)


@pytest.mark.parametrize("name", ["session.config", "input.text", "input.done", "session.close"])
def test_known_types(name: str) -> None:
    frame = decode(json.dumps({"type": name, "text": "a"}), LIMITS)
    assert (frame.kind, frame.type_name, frame.fields, frame.error) == (MessageKind(name), name, {"text": "a"}, None)


@pytest.mark.parametrize(
    ("raw", "quoted"),
    [
        ("{}", "None"),
        ('{"type":null}', "None"),
        ('{"type":"ping"}', "ping"),
        ('{"type":"unknown type"}', "unknown type"),
        ('{"type":"malformed"}', "malformed"),
        ('{"type":7}', "7"),
        ('{"type":true}', "True"),
        ('{"type":["input.done"]}', "['input.done']"),
        ('{"type":{"a":1}}', "{'a': 1}"),
        ('{"type":NaN}', "nan"),
    ],
)
def test_other_types_are_quoted_as_python_prints_them(raw: str, quoted: str) -> None:
    frame = decode(raw, LIMITS)
    assert (frame.kind, frame.type_name) == (MessageKind.UNKNOWN, quoted)


@pytest.mark.parametrize("raw", ["", " ", "{", '{"a":1,}', "{'a':1}", "\ufeff{}", "\x00", '{"type":"input.done"} x'])
def test_what_is_not_json(raw: str) -> None:
    assert decode(raw, LIMITS).error == "Invalid JSON message"


def test_json_that_python_cannot_hold() -> None:
    digits = sys.get_int_max_str_digits() + 1
    assert decode(f'{{"a":{"1" * digits}}}', Limits()).error == "Invalid JSON message"
    assert decode("[" * 100_000 + "]" * 100_000, Limits()).error == "Invalid JSON message"


def test_a_nested_type_never_raises_at_any_depth() -> None:
    for depth in (*range(1, 3000, 97), 20_000):
        raw = '{"type":' + "[" * depth + "]" * depth + "}"
        assert decode(raw, Limits()).kind in (MessageKind.UNKNOWN, MessageKind.MALFORMED)


def test_a_type_too_deep_to_print_is_described() -> None:
    nested: list[object] = []
    for _ in range(100_000):
        nested = [nested]
    assert _quoted(nested) == "a deeply nested value"


@pytest.mark.parametrize("raw", ["[]", '"x"', "1", "null", "NaN", "true"])
def test_json_that_is_no_object(raw: str) -> None:
    assert decode(raw, LIMITS).error == "WebSocket messages must be JSON objects"


def test_the_last_of_duplicated_keys_counts() -> None:
    assert decode('{"type":"input.text","type":"input.done"}', LIMITS).kind is MessageKind.DONE


def test_bytes_are_a_binary_frame() -> None:
    for data in (b"", b'{"type":"input.done"}'):
        frame = decode(data, LIMITS)
        assert (frame.kind, frame.error) == (MessageKind.BINARY, "Internal error: 'text'")


def padded(kind: str, length: int) -> str:
    raw = f'{{"type":"{kind}","a":"é"'
    return raw + " " * (length - len(raw) - 1) + "}"


def test_size_is_counted_in_characters_and_a_config_may_be_larger() -> None:
    assert decode(padded("input.text", 100), LIMITS).kind is MessageKind.TEXT
    assert decode(padded("session.config", 200), LIMITS).kind is MessageKind.CONFIG
    for kind in ("input.text", "input.done", "ping"):
        assert decode(padded(kind, 101), LIMITS).error == "input.text message too large"
    assert decode(padded("session.config", 201), LIMITS).error == "WebSocket message too large"
    assert decode("x" * 201, LIMITS).error == "WebSocket message too large"


def test_the_stock_sizes_are_the_default() -> None:
    assert decode(padded("session.config", 4 * 2**20), Limits()).kind is MessageKind.CONFIG
    assert decode(padded("session.config", 4 * 2**20 + 1), Limits()).error == "WebSocket message too large"
    assert decode(padded("input.text", 128 * 2**10), Limits()).kind is MessageKind.TEXT
    assert decode(padded("input.text", 128 * 2**10 + 1), Limits()).error == "input.text message too large"


def test_halves_of_surrogate_pairs_are_found_and_written_out() -> None:
    assert all(map(is_encodable, ("", "a", "é世😀")))
    assert not any(map(is_encodable, ("a\ud800", "\udfff")))
    assert encodable("é\ud800") == "é\\ud800"
