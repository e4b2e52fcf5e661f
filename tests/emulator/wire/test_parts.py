import json
from io import BytesIO
from typing import Any

import pytest
from botocore.eventstream import EventStreamBuffer
from hypothesis import given
from hypothesis import strategies as st
from smithy_aws_event_stream.events import Event

from antiphon.emulator.wire.eventstream import EventStreamError, HeaderValue, decode, encode
from antiphon.emulator.wire.parts import (
    Assembler,
    Frame,
    Opcode,
    Part,
    PartError,
    encode_chunk,
    encode_internal_failure,
    encode_model_stream_error,
    encode_part,
    parse_part,
)

PLAIN: dict[str, HeaderValue] = {":message-type": "event", ":event-type": "PayloadPart"}


@pytest.mark.parametrize(
    ("headers", "part"),
    [
        ({}, Part(False, True, b"x")),
        ({"DataType": "UTF8"}, Part(True, True, b"x")),
        ({"DataType": "BINARY", "CompletionState": "PARTIAL"}, Part(False, False, b"x")),
        ({"DataType": "UTF8", "CompletionState": "COMPLETE", "P": "padding"}, Part(True, True, b"x")),
    ],
)
def test_parts_are_read_with_their_defaults(headers: dict[str, HeaderValue], part: Part) -> None:
    assert parse_part(encode({**PLAIN, **headers}, b"x")) == part


def test_an_empty_part_is_a_part() -> None:
    assert parse_part(encode(PLAIN)) == Part(False, True, b"")


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {":message-type": "event"},
        {":message-type": "event", ":event-type": "Other"},
        {":message-type": "exception", ":event-type": "PayloadPart"},
        {**PLAIN, "DataType": "utf8"},
        {**PLAIN, "DataType": True},
        {**PLAIN, "CompletionState": "DONE"},
        {**PLAIN, "CompletionState": b"COMPLETE"},
    ],
)
def test_what_is_no_part_is_refused(headers: dict[str, HeaderValue]) -> None:
    with pytest.raises(PartError):
        parse_part(encode(headers, b"x"))


def test_what_is_no_message_is_refused() -> None:
    with pytest.raises(EventStreamError):
        parse_part(b"no message")


def test_a_run_of_partial_parts_is_one_message_of_the_first_ones_type() -> None:
    assembler = Assembler()
    parts = [Part(True, False, b"a"), Part(False, False, b"b"), Part(True, True, b"c"), Part(False, True, b"d")]
    assert [assembler.frame(part) for part in parts] == [
        Frame(Opcode.TEXT, False, b"a", True),
        Frame(Opcode.CONT, False, b"b", True),
        Frame(Opcode.CONT, True, b"c", True),
        Frame(Opcode.BINARY, True, b"d", False),
    ]


@given(st.lists(st.builds(Part, st.booleans(), st.booleans(), st.binary(max_size=3)), max_size=20))
def test_frames_are_one_to_one_and_continue_exactly_what_is_open(parts: list[Part]) -> None:
    assembler, within = Assembler(), False
    for part in parts:
        frame = assembler.frame(part)
        assert (frame.data, frame.fin) == (part.data, part.final)
        assert (frame.opcode is Opcode.CONT) is within
        within = not frame.fin


@pytest.mark.parametrize("text", [True, False])
@pytest.mark.parametrize("final", [True, False])
@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_an_encoded_part_is_what_the_service_sends(text: bool, final: bool, kind: Any) -> None:
    message = decode(encode_part(kind(b"data"), text, final))
    assert message.payload == b"data"
    assert message.headers == {
        ":message-type": "event",
        ":event-type": "PayloadPart",
        ":content-type": "application/octet-stream",
        "DataType": "UTF8" if text else "BINARY",
        "CompletionState": "COMPLETE" if final else "PARTIAL",
    }
    assert parse_part(encode_part(b"data", text, final)) == Part(text, final, b"data")


def test_errors_are_exceptions_to_the_sdk_and_to_botocore() -> None:
    data = encode_model_stream_error("it closed", "StreamBroken") + encode_internal_failure("it fell over")
    source = BytesIO(data)
    kinds = []
    while event := Event.decode(source):
        assert event.message.headers[":message-type"] == "exception"
        kinds.append((event.message.headers[":exception-type"], json.loads(event.message.payload)))
    assert kinds == [
        ("ModelStreamError", {"Message": "it closed", "ErrorCode": "StreamBroken"}),
        ("InternalStreamFailure", {"Message": "it fell over"}),
    ]
    buffer = EventStreamBuffer()
    buffer.add_data(data)
    assert [event.to_response_dict()["status_code"] for event in buffer] == [400, 400]


def test_a_chunk_of_a_response_stream_has_no_type() -> None:
    assert decode(encode_chunk(b"pcm")).headers == {**PLAIN, ":content-type": "application/octet-stream"}
