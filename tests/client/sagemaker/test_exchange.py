"""One exchange over a CRT that does as it is told, for what a real one does rarely."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import pytest

from antiphon.client.sagemaker import exchange
from antiphon.client.sagemaker.exchange import MAX_UNSENT_BYTES, Exchange, StreamLostError
from antiphon.client.sagemaker.http2 import WINDOW_BYTES, Connection, CrtError, _Limits, crt_errors, in_loop

pytestmark = pytest.mark.anyio


class Crt:
    """A connection and its only stream."""

    def __init__(self) -> None:
        self.completion_future: Future[int] = Future()
        self.remote_end_stream_future: Future[None] = Future()
        self.on_body: Callable[..., None] = lambda chunk: None
        self.on_response: Callable[..., None] = lambda status_code, headers: None
        self.credited = 0
        self.writes: list[Future[None]] = []
        self.ended = False
        self.refuses = False

    def request(self, request: object, on_response: Any, on_body: Any, *, manual_write: bool) -> "Crt":
        self.on_response, self.on_body = on_response, on_body
        return self

    def activate(self) -> None:
        if self.refuses:
            raise RuntimeError("2076 (AWS_ERROR_HTTP_GOAWAY_RECEIVED): Peer sent GOAWAY")

    def update_window(self, size: int) -> None:
        if self.completion_future.done():
            raise RuntimeError("2087 (AWS_ERROR_HTTP_STREAM_HAS_COMPLETED): over")
        self.credited += size

    def write_data(self, data: object, *, end_stream: bool) -> "Future[None]":
        self.ended |= end_stream
        self.writes.append(Future())
        return self.writes[-1]


@pytest.fixture
def crt() -> Crt:
    return Crt()


def begin(crt: Crt, *, holds_back: bool = True) -> Exchange:
    return Exchange(Connection(crt, _Limits(), holds_back=holds_back), object())


async def test_only_what_is_read_is_credited_and_by_halves_of_the_window(crt: Crt) -> None:
    begun = begin(crt)
    half = WINDOW_BYTES // 2
    crt.on_body(chunk=bytes(half - 1))
    crt.on_body(chunk=b"abcd")
    assert await begun.read(half - 1) == bytes(half - 1)
    assert crt.credited == 0
    assert await begun.read(2) == b"ab"
    assert crt.credited == half + 3
    assert await begun.read(2) == b"cd"
    assert crt.credited == half + 3


async def test_what_nobody_reads_is_bounded(crt: Crt, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "MAX_UNREAD_BYTES", 8)
    begun = begin(crt, holds_back=False)
    for _ in range(3):
        crt.on_body(chunk=b"abcd")
    await asyncio.sleep(0)
    assert await begun.read(8) == b"abcdabcd"
    assert await begun.read(4) == b"abcd"
    with pytest.raises(StreamLostError, match="nobody read"):
        await begun.read(1)
    crt.on_body(chunk=b"late")
    await asyncio.sleep(0)
    with pytest.raises(StreamLostError):
        await begun.read(1)
    assert crt.ended


async def test_the_end_between_reading_and_crediting_does_no_harm(crt: Crt) -> None:
    begun = begin(crt)
    data = bytes(WINDOW_BYTES)
    crt.on_body(chunk=data)
    await asyncio.sleep(0)
    crt.completion_future.set_result(200)
    assert await begun.read(len(data)) == data
    assert await begun.read(4) == b""


BLOCK = bytes(MAX_UNSENT_BYTES + 1)


async def test_small_writes_do_not_wait_for_each_other(crt: Crt) -> None:
    begun = begin(crt)
    for _ in range(20):
        await begun.write(b"x")
    assert len(crt.writes) == 20


async def test_writes_wait_while_much_is_unsent(crt: Crt) -> None:
    begun = begin(crt)
    await begun.write(BLOCK)
    waiting = asyncio.create_task(begun.write(b"x"))
    await asyncio.sleep(0)
    assert len(crt.writes) == 1
    crt.writes[0].set_result(None)
    await waiting
    assert len(crt.writes) == 2


async def test_a_write_that_crt_forgets_ends_with_the_stream(crt: Crt) -> None:
    begun = begin(crt)
    await begun.write(BLOCK)
    waiting = asyncio.create_task(begun.write(b"x"))
    await asyncio.sleep(0)
    crt.completion_future.set_result(200)
    with pytest.raises(StreamLostError, match="takes no more"):
        await waiting
    with pytest.raises(StreamLostError, match="takes no more"):
        await begun.end_request()
    assert len(crt.writes) == 1


async def test_a_write_that_failed_is_told_by_the_next(crt: Crt) -> None:
    begun = begin(crt)
    await begun.write(b"x")
    crt.writes[0].set_exception(OSError())
    await asyncio.sleep(0)
    with pytest.raises(StreamLostError):
        await begun.write(b"x")
    assert len(crt.writes) == 1


async def test_the_end_is_told_when_all_has_been_sent(crt: Crt) -> None:
    begun = begin(crt)
    await begun.write(b"x")
    ending = asyncio.create_task(begun.end_request())
    await asyncio.sleep(0)
    assert crt.ended
    crt.writes[1].set_result(None)
    await asyncio.sleep(0)
    assert not ending.done()
    crt.writes[0].set_result(None)
    await ending


async def test_an_end_that_could_not_be_sent_is_told(crt: Crt) -> None:
    begun = begin(crt)
    ending = asyncio.create_task(begun.end_request())
    await asyncio.sleep(0)
    crt.writes[0].set_exception(OSError())
    with pytest.raises(StreamLostError):
        await ending


async def test_a_connection_that_takes_no_more_says_so_by_name(crt: Crt) -> None:
    crt.refuses = True
    with pytest.raises(CrtError) as caught:
        begin(crt)

    assert caught.value.name == "AWS_ERROR_HTTP_GOAWAY_RECEIVED"


async def test_a_response_without_a_beginning_is_lost(crt: Crt) -> None:
    begun = begin(crt)
    crt.completion_future.set_result(0)
    with pytest.raises(StreamLostError, match="without a response"):
        await begun.head()


def test_an_error_that_crt_does_not_name_stays_what_it_is() -> None:
    with pytest.raises(RuntimeError, match="mine"), crt_errors():
        raise RuntimeError("mine")


def test_a_thread_of_crt_may_outlive_the_loop() -> None:
    loop = asyncio.new_event_loop()
    loop.close()
    in_loop(loop, print)
