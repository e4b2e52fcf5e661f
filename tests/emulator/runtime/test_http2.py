"""HTTP/2 without sockets."""

import pytest
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import ConnectionTerminated, DataReceived, StreamReset
from h2.settings import SettingCodes
from hyperframe.frame import ContinuationFrame, DataFrame, GoAwayFrame, HeadersFrame, PingFrame, PriorityFrame
from hypothesis import given
from hypothesis import strategies as st

from antiphon.emulator.runtime.http2 import MAX_HEADER_BYTES, MAX_STREAMS, STREAM_WINDOW_BYTES, Http2
from antiphon.emulator.runtime.http2_events import Data, Ended, Event, Gone, Request, Reset

HEADERS = ((":method", "POST"), (":scheme", "https"), (":authority", "localhost"), (":path", "/"))


class Pair:
    """A client and the server, joined."""

    def __init__(self) -> None:
        self.client = H2Connection(H2Configuration(client_side=True, header_encoding="utf-8"))
        self.server = Http2()
        self.client.initiate_connection()
        self.to_server()
        self.to_client()

    def to_server(self, data: bytes = b"", now: float = 0.0) -> list[Event]:
        return self.server.receive(self.client.data_to_send() + data, now)

    def to_client(self, limit: int = 2**20) -> list[object]:
        return list(self.client.receive_data(self.server.take(limit)))

    def request(self, *, end: bool = False) -> int:
        stream = self.client.get_next_available_stream_id()
        self.client.send_headers(stream, HEADERS, end_stream=end)
        return stream

    def answering(self) -> int:
        """A stream whose response has begun."""
        stream = self.request()
        self.to_server()
        self.server.start(stream, 200, ())
        self.to_client()
        return stream


def bodies(events: list[object]) -> list[tuple[int, int]]:
    """The streams and sizes of the data frames."""
    return [(event.stream_id, len(event.data)) for event in events if isinstance(event, DataReceived)]


def test_a_request_is_told_piece_by_piece() -> None:
    pair = Pair()
    stream = pair.request()
    pair.client.send_data(stream, b"one", pad_length=4)
    pair.client.send_data(stream, b"two", end_stream=True)
    assert pair.to_server() == [Request(1, HEADERS), Data(1, b"one", 8), Data(1, b"two", 3), Ended(1)]


def test_a_request_that_is_given_up_is_told() -> None:
    pair = Pair()
    stream = pair.request()
    pair.client.reset_stream(stream, ErrorCodes.CANCEL)
    assert pair.to_server() == [Request(1, HEADERS), Reset(1, 8)]


def test_a_stream_gets_a_window_back_only_for_what_was_taken() -> None:
    pair = Pair()
    stream = pair.request()
    for _ in range(4):
        pair.client.send_data(stream, bytes(16_000))
    pair.to_server()
    pair.to_client()
    left = STREAM_WINDOW_BYTES - 64_000
    assert pair.client.local_flow_control_window(stream) == left
    pair.server.credit(stream, 16_000)  # less than half a window: not worth a frame
    pair.to_client()
    assert pair.client.local_flow_control_window(stream) == left
    pair.server.credit(stream, 48_000)
    pair.to_client()
    assert pair.client.local_flow_control_window(stream) == STREAM_WINDOW_BYTES


def test_the_connection_gets_its_window_back_at_once() -> None:
    pair = Pair()
    for _ in range(MAX_STREAMS):
        stream = pair.request()
        for _ in range(3):
            pair.client.send_data(stream, bytes(16_384))
        pair.to_server()
        pair.to_client()
    assert pair.client.outbound_flow_control_window > STREAM_WINDOW_BYTES


def test_no_credit_for_a_stream_that_is_over() -> None:
    pair = Pair()
    stream = pair.request()
    pair.client.send_data(stream, bytes(10_000), end_stream=True)
    pair.to_server()
    pair.server.credit(stream, STREAM_WINDOW_BYTES)
    assert pair.server.take(2**20) == b""


def test_streams_take_turns() -> None:
    pair = Pair()
    first, second = pair.answering(), pair.answering()
    pair.client.increment_flow_control_window(2**20)
    pair.to_server()
    pair.server.send(first, bytes(50_000))
    pair.server.send(second, bytes(20_000))
    assert bodies(pair.to_client()) == [
        (first, 16_384),
        (second, 16_384),
        (first, 16_384),
        (second, 3_616),
        (first, 16_384),
        (first, 848),
    ]


def test_a_stream_without_window_keeps_what_it_has_and_the_others_go_on() -> None:
    pair = Pair()
    first, second = pair.answering(), pair.answering()
    pair.client.increment_flow_control_window(2**20)
    pair.to_server()
    pair.server.send(first, bytes(100_000))
    assert sum(size for _, size in bodies(pair.to_client())) == 65_535
    assert pair.server.waiting(first) == 100_000 - 65_535
    pair.server.send(second, b"on")
    assert bodies(pair.to_client()) == [(second, 2)]
    pair.client.increment_flow_control_window(2**20, first)
    pair.to_server()
    assert sum(size for _, size in bodies(pair.to_client())) == 100_000 - 65_535


def test_a_connection_without_window_waits_and_loses_nothing() -> None:
    pair = Pair()
    first, second = pair.answering(), pair.answering()
    pair.server.send(first, bytes(40_000))
    pair.server.send(second, bytes(40_000))
    assert sum(size for _, size in bodies(pair.to_client())) == 65_535
    pair.client.increment_flow_control_window(2**20)
    pair.to_server()
    assert sum(size for _, size in bodies(pair.to_client())) == 80_000 - 65_535


def test_a_window_that_the_settings_open_is_used() -> None:
    pair = Pair()
    pair.client.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: 0})
    pair.to_server()
    stream = pair.answering()
    pair.server.send(stream, b"wait")
    assert bodies(pair.to_client()) == []
    pair.client.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: 100})
    pair.to_server()
    assert bodies(pair.to_client()) == [(stream, 4)]


def test_only_so_much_is_given_at_once() -> None:
    pair = Pair()
    stream = pair.answering()
    pair.server.send(stream, bytes(60_000))
    assert bodies(pair.to_client(0)) == []
    assert bodies(pair.to_client(1)) == [(stream, 16_384)]
    assert pair.server.waiting(stream) == 60_000 - 16_384


def test_the_end_follows_all_there_is_to_send_and_then_the_request_is_given_up() -> None:
    pair = Pair()
    stream = pair.answering()
    pair.server.send(stream, bytes(20_000))
    pair.server.end(stream)
    assert pair.server.answered() == []
    events = pair.to_client()
    assert [type(event).__name__ for event in events] == ["DataReceived", "DataReceived", "StreamEnded"]
    assert pair.server.answered() == [stream]
    assert pair.server.answered() == []
    pair.server.give_up(stream)
    (reset,) = pair.to_client()
    assert isinstance(reset, StreamReset)
    assert reset.error_code == ErrorCodes.NO_ERROR


def test_a_request_that_ends_after_its_response_is_not_given_up() -> None:
    pair = Pair()
    stream = pair.answering()
    pair.server.end(stream)
    pair.to_client()
    assert pair.server.answered() == [stream]
    pair.client.end_stream(stream)
    assert pair.to_server() == [Ended(stream)]
    pair.server.give_up(stream)
    assert pair.to_client() == []


def test_a_request_that_has_ended_is_not_given_up() -> None:
    pair = Pair()
    stream = pair.request(end=True)
    pair.to_server()
    pair.server.start(stream, 200, ())
    pair.server.end(stream)
    assert [type(event).__name__ for event in pair.to_client()] == ["ResponseReceived", "DataReceived", "StreamEnded"]
    assert pair.server.answered() == []


def test_what_is_sent_on_a_stream_that_is_over_goes_nowhere() -> None:
    pair = Pair()
    stream = pair.answering()
    pair.client.reset_stream(stream)
    pair.to_server()
    pair.server.start(stream, 200, ())
    pair.server.send(stream, b"late")
    pair.server.end(stream)
    pair.server.credit(stream, STREAM_WINDOW_BYTES)
    assert pair.server.take(2**20) == b""


def test_data_that_was_under_way_when_a_stream_ended_does_no_harm() -> None:
    pair = Pair()
    stream = pair.answering()
    pair.client.send_data(stream, b"crossing")
    crossing = pair.client.data_to_send()
    pair.server.end(stream)
    pair.to_client()
    pair.server.give_up(stream)
    assert pair.server.receive(crossing, 0.0) == []
    assert pair.to_server(PingFrame(0, b"12345678").serialize()) == []


def test_as_many_streams_as_promised_and_no_more() -> None:
    pair = Pair()
    assert pair.client.remote_settings.max_concurrent_streams == MAX_STREAMS >= 256
    for _ in range(MAX_STREAMS):
        pair.request()
    assert len(pair.to_server()) == MAX_STREAMS
    block = pair.client.encoder.encode(HEADERS)
    extra = HeadersFrame(2 * MAX_STREAMS + 1, block, flags=["END_HEADERS"])
    assert isinstance(pair.to_server(extra.serialize())[-1], Gone)


FLOODS = {
    "ping": PingFrame(0, b"12345678"),
    "priority": PriorityFrame(1, depends_on=3),
    "empty data": DataFrame(1, b""),
}


@pytest.mark.parametrize("kind", ["ping", "priority", "empty data"])
def test_a_flood_of_frames_that_carry_nothing_ends_the_connection(kind: str) -> None:
    pair = Pair()
    pair.request()
    pair.to_server()
    allowed = 2 * MAX_STREAMS - 1  # the settings were the first
    assert not any(isinstance(event, Gone) for event in pair.to_server(FLOODS[kind].serialize() * allowed))
    pair.server.take(2**20)
    assert pair.to_server(FLOODS[kind].serialize())[-1] == Gone("too many frames that carry nothing")
    terminated = pair.to_client()[-1]
    assert isinstance(terminated, ConnectionTerminated)
    assert terminated.error_code == ErrorCodes.ENHANCE_YOUR_CALM


def test_a_flood_of_settings_ends_the_connection() -> None:
    pair = Pair()
    for _ in range(2 * MAX_STREAMS):
        pair.client.update_settings({SettingCodes.MAX_CONCURRENT_STREAMS: 7})
    assert pair.to_server()[-1] == Gone("too many frames that carry nothing")


def test_rapid_resets_end_the_connection() -> None:
    pair = Pair()
    seen = 0
    for _ in range(2 * MAX_STREAMS):
        stream = pair.request()
        pair.client.reset_stream(stream)
        events = pair.to_server()
        seen += 1
        if isinstance(events[-1], Gone):
            break
    assert seen == 2 * MAX_STREAMS


def test_what_would_be_a_flood_in_a_second_is_none_in_a_minute() -> None:
    pair = Pair()
    for second in range(60):
        assert pair.to_server(FLOODS["ping"].serialize() * 100, now=float(second)) == []
        pair.server.take(2**20)


def test_headers_are_bounded() -> None:
    pair = Pair()
    stream = pair.client.get_next_available_stream_id()
    pair.client.send_headers(stream, (*HEADERS, ("x-long", "x" * MAX_HEADER_BYTES)))
    assert isinstance(pair.to_server()[-1], Gone)


def test_continuations_without_end_are_bounded() -> None:
    pair = Pair()
    block = pair.client.encoder.encode(HEADERS)
    frames = HeadersFrame(1, block).serialize() + ContinuationFrame(1, b"").serialize() * 1000
    assert isinstance(pair.to_server(frames)[-1], Gone)


@pytest.mark.parametrize(
    "garbage", [b"GET / HTTP/1.1\r\n\r\n", b"\0" * 30, b"\xff" * 30], ids=["http1", "zeros", "ones"]
)
def test_what_is_no_http2_ends_the_connection(garbage: bytes) -> None:
    server = Http2()
    (gone,) = server.receive(garbage, 0.0)
    assert isinstance(gone, Gone)
    assert server.receive(garbage, 0.0) == []


@given(st.lists(st.binary(max_size=200), max_size=5), st.integers(0, 9), st.integers(0, 3), st.integers(0, 255))
def test_whatever_a_client_sends_is_told_in_events(pieces: list[bytes], kind: int, stream: int, flags: int) -> None:
    pair = Pair()
    pair.request()
    pair.to_server()
    for piece in pieces:
        header = len(piece).to_bytes(3) + bytes((kind, flags)) + stream.to_bytes(4)
        for event in pair.server.receive(header + piece, 0.0):
            assert isinstance(event, Event)
        pair.server.take(2**20)


def test_a_client_that_says_goodbye_is_gone() -> None:
    pair = Pair()
    pair.client.close_connection()
    assert pair.to_server() == [Gone("the client said goodbye")]


def test_a_client_that_says_goodbye_keeps_the_streams_it_has() -> None:
    pair = Pair()
    stream = pair.answering()
    goodbye = GoAwayFrame(last_stream_id=0).serialize()
    pair.client.send_data(stream, b"still here")
    assert pair.to_server(goodbye) == [Data(stream, b"still here", 10)]
    pair.server.send(stream, b"so am I")
    assert bodies(pair.to_client()) == [(stream, 7)]
    in_anger = GoAwayFrame(last_stream_id=0, error_code=ErrorCodes.INTERNAL_ERROR).serialize()
    assert pair.to_server(in_anger) == [Gone("the client said goodbye")]


def test_closing_says_so_once() -> None:
    pair = Pair()
    pair.answering()
    pair.server.close()
    (terminated,) = pair.to_client()
    assert isinstance(terminated, ConnectionTerminated)
    pair.server.close()
    assert pair.server.take(2**20) == b""
