import datetime as dt
import struct
import time
from collections.abc import Callable, Iterable
from io import BytesIO
from uuid import UUID
from zlib import crc32

import pytest
from botocore.eventstream import EventStreamBuffer
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from smithy_aws_event_stream.events import Byte, Event, EventMessage, Long, Short

from antiphon.emulator.wire.event_headers import MAX_HEADER_VALUE_BYTES, encode_header
from antiphon.emulator.wire.eventstream import (
    MAX_HEADERS_BYTES,
    MAX_PAYLOAD_BYTES,
    Decoder,
    EventStreamError,
    HeaderValue,
    Message,
    Timestamp,
    decode,
    encode,
    frame,
)

INT64 = st.integers(-(2**63), 2**63 - 1)
VALUES: st.SearchStrategy[HeaderValue] = st.one_of(
    st.text(max_size=40), st.binary(max_size=40), st.booleans(), INT64, st.builds(Timestamp, INT64), st.uuids()
)
NAMES = st.text(min_size=1, max_size=30)
MESSAGES = st.builds(Message, st.dictionaries(NAMES, VALUES, max_size=5), st.binary(max_size=300))


def encoded(messages: Iterable[Message]) -> bytes:
    return b"".join(encode(message.headers, message.payload) for message in messages)


def outcome(data: bytes, size: int) -> tuple[list[Message], str]:
    """Decode in pieces of a size; give the messages and the error that ended them."""
    decoder, messages = Decoder(), []
    try:
        for at in range(0, len(data), size):
            for message in decoder.feed(data[at : at + size]):
                messages.append(message)  # noqa: PERF402 - those before an error count too
    except EventStreamError as error:
        return messages, str(error)
    return messages, "pending" if decoder.pending_bytes else ""


def raw(
    headers: bytes = b"", payload: bytes = b"", total: int | None = None, headers_length: int | None = None
) -> bytes:
    """A message whose checksums are right, whatever its lengths say."""
    size = len(headers) + len(payload) + 16
    lengths = struct.pack(
        ">II", size if total is None else total, len(headers) if headers_length is None else headers_length
    )
    message = lengths + struct.pack(">I", crc32(lengths)) + headers + payload
    return message + struct.pack(">I", crc32(message))


@given(st.lists(MESSAGES, max_size=5))
def test_what_is_encoded_decodes_to_the_same_however_it_is_cut(messages: list[Message]) -> None:
    data = encoded(messages)
    for size in (1, 7, 2**20):
        assert outcome(data, size) == (messages, "")


@given(st.lists(MESSAGES, max_size=4), st.data())
def test_damage_is_met_at_the_same_place_however_the_bytes_are_cut(
    messages: list[Message], data: st.DataObject
) -> None:
    stream = bytearray(encoded(messages) + data.draw(st.binary(max_size=40)))
    if stream:
        at = data.draw(st.integers(0, len(stream) - 1))
        stream[at] ^= data.draw(st.integers(0, 255))
    assert outcome(bytes(stream), 1) == outcome(bytes(stream), 2**20) == outcome(bytes(stream), 5)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.binary(max_size=200), st.binary(max_size=200))
def test_headers_of_any_bytes_are_read_or_refused(headers: bytes, payload: bytes) -> None:
    messages, error = outcome(raw(headers, payload), 2**20)
    assert (len(messages) == 1) != bool(error)


@given(st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1))
def test_a_prelude_of_any_lengths_asks_for_no_more_than_the_limits(total: int, headers_length: int) -> None:
    decoder = Decoder()
    data = raw(total=total, headers_length=headers_length)[:12]
    possible = headers_length <= MAX_HEADERS_BYTES and 0 <= total - headers_length - 16 <= MAX_PAYLOAD_BYTES
    if possible and total > 12:
        assert list(decoder.feed(data)) == []
        assert decoder.pending_bytes
    else:
        with pytest.raises(EventStreamError):
            list(decoder.feed(data))


@given(MESSAGES)
def test_the_sdk_and_botocore_read_what_is_encoded(message: Message) -> None:
    data = encode(message.headers, message.payload)
    by_botocore = EventStreamBuffer()
    by_botocore.add_data(data)
    theirs = next(by_botocore).to_response_dict()
    assert theirs["body"] == message.payload
    for name, value in message.headers.items():
        plain = value.ms if isinstance(value, Timestamp) else value.bytes if isinstance(value, UUID) else value
        assert theirs["headers"][name] == plain
    # It has no dates before year 1 or after 9999.
    ours = {name: value for name, value in message.headers.items() if not isinstance(value, Timestamp)}
    event = Event.decode(BytesIO(encode(ours, message.payload)))
    assert event is not None
    assert event.message.headers == ours
    assert event.message.payload == message.payload


def test_every_type_of_header_that_the_sdk_writes_is_read() -> None:
    moment = dt.datetime(2026, 11, 30, 20, 35, 39, 123000, dt.UTC)
    identifier = UUID(int=7)
    theirs = EventMessage(
        headers={
            "true": True,
            "false": False,
            "byte": Byte(-5),
            "short": Short(-300),
            "integer": 70_000,
            "long": Long(2**40),
            "bytes": b"\x00\xff",
            "string": "こんにちは",
            "time": moment,
            "uuid": identifier,
        },
        payload=b"payload",
    )
    expected = {**theirs.headers, "time": Timestamp(1796070939123)}
    assert decode(theirs.encode()) == Message(expected, b"payload")  # type: ignore[arg-type] # their dates are replaced


def test_an_integer_takes_eight_bytes_where_it_must() -> None:
    assert encode_header("n", 2**31 - 1) == b"\x01n\x04\x7f\xff\xff\xff"
    assert encode_header("n", 2**31) == b"\x01n\x05\x00\x00\x00\x00\x80\x00\x00\x00"


def test_a_decoder_that_failed_stays_failed() -> None:
    decoder = Decoder()
    with pytest.raises(EventStreamError, match="prelude"):
        list(decoder.feed(b"\x00" * 11 + b"\x01"))
    with pytest.raises(EventStreamError, match="prelude"):
        decoder.feed(encode({}, b"fine"))
    assert not decoder.pending_bytes


def test_messages_before_the_damage_are_given_and_what_is_not_taken_is_not_kept() -> None:
    decoder = Decoder()
    good = encode({}, b"good")
    messages = decoder.feed(good + b"\x00" * 12 + good)
    assert next(messages).payload == b"good"
    with pytest.raises(EventStreamError):
        next(messages)
    untaken = Decoder()
    for _ in range(100):
        untaken.feed(good)
    assert not untaken.pending_bytes
    assert len(untaken._buffer) == 0


def test_a_message_that_is_not_complete_is_pending() -> None:
    decoder = Decoder()
    data = encode({"a": "b"}, b"payload")
    assert not decoder.pending_bytes
    assert list(decoder.feed(data[:-1])) == []
    assert decoder.pending_bytes
    assert [message.payload for message in decoder.feed(data[-1:])] == [b"payload"]
    assert not decoder.pending_bytes


@pytest.mark.parametrize(
    "data",
    [
        raw(headers_length=1),
        raw(b"\x01", total=16),
        raw(b"\x00\x00"),
        raw(b"\x01a"),
        raw(b"\x01a\x0a"),
        raw(b"\x01a\x07\x00\x05abc"),
        raw(b"\x01a\x04\x00"),
        raw(b"\x01a\x09" + b"\x00" * 15),
        raw(b"\x01a\x00\x01a\x01"),
        raw(b"\x01\xff\x00"),
        raw(b"\x01a\x07\x00\x01\xff"),
        raw(b"\x01a\x06" + struct.pack(">H", MAX_HEADER_VALUE_BYTES + 1) + b"x" * (MAX_HEADER_VALUE_BYTES + 1)),
        raw(total=15),
        raw(total=0),
    ],
)
def test_messages_that_are_none_are_refused(data: bytes) -> None:
    with pytest.raises(EventStreamError):
        list(Decoder().feed(data + b"\x00" * 4))


@pytest.mark.parametrize("at", range(28))
def test_a_flipped_bit_is_met_wherever_it_is(at: int) -> None:
    data = bytearray(encode({"name": "value"}, b"x"))
    data[at] ^= 0x10
    with pytest.raises(EventStreamError):
        list(Decoder().feed(bytes(data)))


def test_exactly_one_message_is_decoded() -> None:
    data = encode({}, b"one")
    assert decode(data).payload == b"one"
    for other in (b"", data[:-1], data + b"\x00", data + data, data[:8]):
        with pytest.raises(EventStreamError):
            decode(other)


def test_the_largest_message_passes_and_a_larger_one_does_not() -> None:
    payload = bytes(MAX_PAYLOAD_BYTES)
    (message,) = Decoder().feed(encode({}, payload))
    assert message.payload == payload
    with pytest.raises(EventStreamError, match="payload"):
        encode({}, payload + b"\x00")
    with pytest.raises(EventStreamError, match="payload"):
        list(Decoder().feed(raw(total=MAX_PAYLOAD_BYTES + 17)[:12]))


def test_the_longest_headers_pass_and_longer_ones_do_not() -> None:
    longest = "v" * MAX_HEADER_VALUE_BYTES
    assert decode(encode({"name": longest})).headers == {"name": longest}
    with pytest.raises(EventStreamError, match="value"):
        encode({"name": longest + "v"})
    with pytest.raises(EventStreamError, match="name"):
        encode({"": "v"})
    with pytest.raises(EventStreamError, match="name"):
        encode({"n" * 256: "v"})
    with pytest.raises(EventStreamError, match="64 bits"):
        encode({"n": 2**63})
    with pytest.raises(EventStreamError, match="headers"):
        frame(bytes(MAX_HEADERS_BYTES + 1), b"")
    with pytest.raises(EventStreamError, match="headers"):
        list(Decoder().feed(raw(total=MAX_HEADERS_BYTES + 17, headers_length=MAX_HEADERS_BYTES + 1)[:12]))


def seconds(work: Callable[[], object]) -> float:
    """The shortest of three, without the turns of other processes."""
    times = []
    for _ in range(3):
        began = time.thread_time()
        work()
        times.append(time.thread_time() - began)
    return min(times)


@pytest.mark.parametrize("size", [1, 2**20])
@pytest.mark.parametrize("payload", [4, 2**16])
def test_the_time_grows_with_the_input_and_no_faster(size: int, payload: int) -> None:
    message = encode({"name": "value"}, bytes(payload))
    short = message * (2**15 // len(message) + 1)
    assert seconds(lambda: outcome(short * 8, size)) < 8 * 3 * seconds(lambda: outcome(short, size))


def test_what_is_dropped_is_let_go_and_nothing_follows() -> None:
    decoder = Decoder()
    decoder.feed(encode({"a": "b"}, b"x")[:-1])
    decoder.drop()
    assert decoder.pending_bytes == 0
    with pytest.raises(EventStreamError, match="dropped"):
        decoder.feed(b"x")
