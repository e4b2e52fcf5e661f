import h11
import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.emulator.runtime.http1 import MAX_AHEAD_BYTES, MAX_HEADER_BYTES, Http1
from antiphon.emulator.runtime.http2_events import Data, Ended, Event, Gone, Request

HEAD = b"POST /endpoints/ep/invocations? HTTP/1.1\r\nHost: 127.0.0.1:8443\r\nX-Amz-Date:  20261130T203539Z \r\n"
POST = HEAD + b"Content-Length: 5\r\n\r\nhello"


def first(http1: Http1, data: bytes = POST) -> list[Event]:
    return list(http1.receive(data))


def answer(http1: Http1, body: bytes = b"ok") -> bytes:
    http1.start(200, [("content-length", str(len(body)))])
    http1.send(body)
    http1.end()
    return http1.take()


def test_a_request_is_told_as_http2_tells_it() -> None:
    request, data, ended = first(Http1())
    assert request == Request(
        1,
        (
            (":method", "POST"),
            (":scheme", "https"),
            (":authority", "127.0.0.1:8443"),
            (":path", "/endpoints/ep/invocations?"),
            ("host", "127.0.0.1:8443"),
            ("x-amz-date", "20261130T203539Z"),
            ("content-length", "5"),
        ),
    )
    assert (data, ended) == (Data(1, b"hello", 5), Ended(1))


def test_bytes_of_headers_are_kept_as_they_are() -> None:
    (request,) = first(Http1(), b"POST /x HTTP/1.1\r\nhost: a\r\nx-name: \xe3\x81\x93\r\ncontent-length: 1\r\n\r\n")
    assert isinstance(request, Request)
    assert dict(request.headers)["x-name"].encode("latin-1") == "こ".encode()


@given(st.lists(st.integers(1, 40), max_size=20))
def test_requests_are_the_same_however_they_are_cut(sizes: list[int]) -> None:
    http1, events, at = Http1(), [], 0
    for size in [*sizes, len(POST)]:
        events += list(http1.receive(POST[at : at + size]))
        at += size
    body = b"".join(event.data for event in events if isinstance(event, Data))
    assert body == b"hello"
    assert isinstance(events[0], Request)
    assert events[-1] == Ended(1)


def test_a_response_with_a_length_is_sent_as_it_is() -> None:
    http1 = Http1()
    first(http1)
    sent = answer(http1)
    assert sent.startswith(b"HTTP/1.1 200 ")
    assert sent.endswith(b"\r\n\r\nok")
    assert b"connection" not in sent.lower()
    assert not http1.over


def test_a_response_without_a_length_is_chunked() -> None:
    http1 = Http1()
    first(http1)
    http1.start(200, [])
    http1.send(b"one")
    assert http1.take().endswith(b"\r\n\r\n3\r\none\r\n")
    http1.send(b"two")
    http1.end()
    assert http1.take() == b"3\r\ntwo\r\n0\r\n\r\n"


def test_a_connection_is_used_again() -> None:
    http1 = Http1()
    for number in (1, 2, 3):
        assert first(http1)[-1] == Ended(number)
        assert answer(http1)
        assert list(http1.events()) == []


def test_a_request_that_comes_early_waits_for_its_turn() -> None:
    http1 = Http1()
    assert first(http1, POST + POST)[-1] == Ended(1)
    answer(http1)
    assert [type(event) for event in http1.events()] == [Request, Data, Ended]
    assert answer(http1)


@pytest.mark.parametrize("more", [0, 1])
def test_what_comes_early_is_bounded(more: int) -> None:
    http1 = Http1()
    first(http1)
    assert first(http1, bytes(MAX_AHEAD_BYTES)) == []
    events = first(http1, bytes(more))
    assert events == ([Gone("requests come faster than they are answered")] if more else [])
    assert http1.over is bool(more)


def test_what_came_early_counts_for_the_next_request_too() -> None:
    http1 = Http1()
    first(http1, POST + POST)
    answer(http1)
    list(http1.events())
    assert first(http1, bytes(MAX_AHEAD_BYTES)) == []
    assert isinstance(first(http1, b"x")[0], Gone)


def test_a_client_that_waits_for_100_continue_is_asked_for_its_body() -> None:
    http1 = Http1()
    (request,) = first(http1, HEAD + b"Expect: 100-continue\r\nContent-Length: 5\r\n\r\n")
    assert isinstance(request, Request)
    assert http1.take() == b"HTTP/1.1 100 \r\n\r\n"
    assert first(http1, b"hello") == [Data(1, b"hello", 5), Ended(1)]
    assert http1.take() == b""
    assert answer(http1)
    assert not http1.over


def test_a_client_that_is_refused_at_once_is_not_asked_for_its_body() -> None:
    http1 = Http1()
    for event in http1.receive(HEAD + b"Expect: 100-continue\r\nContent-Length: 5\r\n\r\n"):
        assert isinstance(event, Request)
        http1.start(400, [("content-length", "0")])
        http1.end()
    sent = http1.take()
    assert sent.startswith(b"HTTP/1.1 400 ")
    assert b"connection: close" in sent.lower()
    assert http1.over
    assert http1.unread


def test_a_body_that_was_answered_already_is_read_to_its_end() -> None:
    http1 = Http1()
    first(http1, HEAD + b"Content-Length: 5\r\n\r\nhe")
    answer(http1)
    assert http1.unread
    assert first(http1, b"llo") == [Data(1, b"llo", 3), Ended(1)]
    assert not http1.unread
    assert http1.over


@pytest.mark.parametrize("version", [b"HTTP/1.0", b"HTTP/1.1\r\nConnection: close"])
def test_a_client_that_wants_to_close_is_not_kept(version: bytes) -> None:
    http1 = Http1()
    assert first(http1, POST.replace(b"HTTP/1.1", version))[-1] == Ended(1)
    answer(http1)
    assert http1.over
    assert not http1.unread


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"\x16\x03\x01\x00\xa5\r\n\r\n", b"400"),
        (b"POST /x HTTP/1.1\r\n\r\n", b"400"),
        (b"POST /x HTTP/1.1\r\nhost: a\r\ncontent-length: x\r\n\r\n", b"400"),
        (b"POST /x HTTP/1.1\r\nhost: a\r\ntransfer-encoding: gzip\r\n\r\n", b"501"),
        (b"POST /x HTTP/1.1\r\nhost: a\r\nx: " + b"y" * MAX_HEADER_BYTES, b"431"),
    ],
)
def test_what_is_no_request_is_refused(data: bytes, status: bytes) -> None:
    http1 = Http1()
    (gone,) = first(http1, data)
    assert isinstance(gone, Gone)
    assert http1.take().startswith(b"HTTP/1.1 " + status)
    assert first(http1, POST) == []
    assert http1.over


def test_what_is_said_of_it_does_not_quote_it() -> None:
    (gone,) = first(Http1(), b"POST /x HTTP/1.1\r\nauthorization: s3cret\x01\r\n\r\n")
    assert gone == Gone("no request that can be read: status 400")


def test_a_body_that_breaks_the_rules_ends_the_connection_within_a_response_too() -> None:
    http1 = Http1()
    first(http1, HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
    http1.start(200, [])
    http1.take()
    (gone,) = first(http1, b"no chunk\r\n")
    assert isinstance(gone, Gone)
    assert http1.take() == b""


@given(st.lists(st.binary(min_size=1, max_size=200), max_size=10))
def test_any_bytes_are_read_or_refused(pieces: list[bytes]) -> None:
    http1 = Http1()
    for piece in pieces:
        for event in http1.receive(piece):
            if isinstance(event, Ended):
                answer(http1)
    http1.take()


def test_h11s_client_takes_what_is_sent() -> None:
    http1, client = Http1(), h11.Connection(h11.CLIENT)
    request = h11.Request(method="POST", target="/x", headers=[("host", "a"), ("content-length", "0")])
    list(http1.receive((client.send(request) or b"") + (client.send(h11.EndOfMessage()) or b"")))
    http1.start(424, [("x-amzn-errortype", "ModelError"), ("x-latin", "é")])
    http1.send(b"{}")
    http1.end()
    client.receive_data(http1.take())
    response, data, end = client.next_event(), client.next_event(), client.next_event()
    assert isinstance(response, h11.Response)
    assert dict(response.headers)[b"x-latin"] == b"\xe9"
    assert isinstance(data, h11.Data)
    assert (response.status_code, bytes(data.data), type(end)) == (424, b"{}", h11.EndOfMessage)
