import asyncio
import logging
import ssl
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from http import HTTPStatus

import pytest
from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.http11 import Request, Response

from antiphon.client import websocket
from antiphon.client.errors import ConnectError
from antiphon.client.events import Audio, Finished
from antiphon.client.targets import SPEECH_PATH, ConnectOptions
from antiphon.client.transport import ConnectionClosedError, Transport
from antiphon.client.voice import connect
from antiphon.client.websocket import MAX_MESSAGE_BYTES, open_websocket
from antiphon.testing.endpoint import FakeEndpoint, fake_speech

pytestmark = pytest.mark.anyio

type Handler = Callable[[ServerConnection], Awaitable[None]]


@asynccontextmanager
async def serving(handler: Handler, **options: object) -> AsyncIterator[tuple[Server, str]]:
    quiet = logging.getLogger("tests.server")
    async with serve(handler, "127.0.0.1", 0, logger=quiet, **options) as server:  # type: ignore[arg-type] # passed on
        port = server.sockets[0].getsockname()[1]
        yield server, f"ws://127.0.0.1:{port}{SPEECH_PATH}"


async def echo(connection: ServerConnection) -> None:
    async for message in connection:
        await connection.send(message)


async def open_to(target: str, **options: object) -> Transport:
    return await open_websocket(target, ConnectOptions(**options))  # type: ignore[arg-type] # passed on


async def test_text_and_audio_go_both_ways_until_it_is_closed() -> None:
    closes: list[tuple[int | None, str | None]] = []

    async def handler(connection: ServerConnection) -> None:
        await connection.send(await connection.recv())
        await connection.send(b"\1\2")
        await connection.wait_closed()
        closes.append((connection.close_code, connection.close_reason))

    async with serving(handler) as (_, target):
        transport = await open_to(target)
        await transport.send('{"text":"ü"}')
        assert [await transport.receive(), await transport.receive()] == ['{"text":"ü"}', b"\1\2"]
        await transport.close(1000, "done")
        await transport.close()
        with pytest.raises(ConnectionClosedError):
            await transport.send("late")
        with pytest.raises(ConnectionClosedError):
            await transport.receive()

    assert closes == [(1000, "done")]


async def test_closing_ends_a_receive_that_waits() -> None:
    async with serving(echo) as (_, target):
        transport = await open_to(target)
        waiting = asyncio.create_task(transport.receive())
        await asyncio.sleep(0)
        await transport.close()
        with pytest.raises(ConnectionClosedError):
            await waiting


async def test_the_servers_close_code_and_reason_are_told_after_its_last_message() -> None:
    async def handler(connection: ServerConnection) -> None:
        await connection.send("last words")
        await connection.close(1012, "restarting")

    async with serving(handler) as (_, target):
        transport = await open_to(target)
        assert await transport.receive() == "last words"
        with pytest.raises(ConnectionClosedError) as caught:
            await transport.receive()

    assert (caught.value.code, caught.value.reason) == (1012, "restarting")


async def test_a_connection_that_breaks_without_a_close_frame_has_code_1006() -> None:
    async def handler(connection: ServerConnection) -> None:
        connection.transport.abort()

    async with serving(handler) as (_, target):
        transport = await open_to(target)
        with pytest.raises(ConnectionClosedError) as caught:
            await transport.receive()

    assert caught.value.code == 1006


async def test_a_message_that_is_too_long_ends_the_connection_and_says_why() -> None:
    async def handler(connection: ServerConnection) -> None:
        await connection.send(bytes(MAX_MESSAGE_BYTES))
        await connection.send(bytes(MAX_MESSAGE_BYTES + 1))
        await connection.wait_closed()

    async with serving(handler) as (_, target):
        transport = await open_to(target)
        assert len(await transport.receive()) == MAX_MESSAGE_BYTES
        with pytest.raises(ConnectionClosedError) as caught:
            await transport.receive()

    assert caught.value.code == 1009


def noting(requests: list[Request]) -> Callable[[ServerConnection, Request], None]:
    def note(connection: ServerConnection, request: Request) -> None:
        requests.append(request)

    return note


async def test_the_key_travels_in_a_header_alone_and_nothing_is_compressed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTIPHON_API_KEY", "from-environment")
    requests: list[Request] = []
    async with serving(echo, process_request=noting(requests)) as (_, target):
        await (await open_to(target, api_key="from-argument")).close()
        await (await open_to(target)).close()
        await (await open_to(target, api_key="")).close()
        monkeypatch.delenv("ANTIPHON_API_KEY")
        await (await open_to(target)).close()

    keys = [request.headers.get("Authorization") for request in requests]
    assert keys == ["Bearer from-argument", "Bearer from-environment", None, None]
    assert {request.path for request in requests} == {SPEECH_PATH}
    assert {request.headers.get("Sec-WebSocket-Extensions") for request in requests} == {None}


@pytest.mark.parametrize(
    ("target", "sent"),
    [
        ("wss://speech.example/", "from-environment"),
        ("ws://speech.example/", ""),
        ("ws://192.168.1.7:8080/", ""),
        ("ws://localhost:8080/", "from-environment"),
        ("ws://[::1]:8080/", "from-environment"),
    ],
)
def test_the_environments_key_goes_nowhere_in_the_clear(
    target: str, sent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTIPHON_API_KEY", "from-environment")

    assert websocket._api_key(target, ConnectOptions()) == sent
    assert websocket._api_key(target, ConnectOptions(api_key="meant-for-it")) == "meant-for-it"


async def test_who_lacks_a_key_that_was_not_sent_is_told_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(websocket, "_is_loopback", lambda _: False)
    monkeypatch.setenv("no_proxy", "*")
    async with serving(echo, process_request=refusing(HTTPStatus.UNAUTHORIZED)) as (_, target):
        with pytest.raises(ConnectError, match="is sent over wss:// or to this machine only"):
            await open_to(target)
        with pytest.raises(ConnectError, match="401: set ANTIPHON_API_KEY"):
            await open_to(target, api_key="wrong")


async def test_white_space_around_a_key_is_not_part_of_it() -> None:
    requests: list[Request] = []
    async with serving(echo, process_request=noting(requests)) as (_, target):
        await (await open_to(target, api_key=" key\n")).close()

    assert requests[0].headers["Authorization"] == "Bearer key"


@pytest.mark.parametrize("key", ["two\nlines", "schlüssel", "a\0b"])
async def test_a_key_that_no_header_can_carry_is_refused_and_not_repeated(key: str) -> None:
    with pytest.raises(ConnectError, match="no HTTP header can carry") as caught:
        await open_to("ws://127.0.0.1:1/", api_key=key)

    assert key not in str(caught.value)


@pytest.mark.parametrize(
    ("proxy", "message"),
    [
        ("socks5://127.0.0.1:9", "requires python-socks; install it, or except the host with no_proxy"),
        ("gopher://user:s3cret@127.0.0.1:9", "proxy in the environment cannot be used: scheme gopher"),
        ("http://user:s3cret@127.0.0.1:nine", "proxy in the environment cannot be used"),
        (f"http://user:s3cret@{'h' * 64}:9", "proxy in the environment cannot be used"),
        ("http://127.0.0.1:9", "cannot reach ws://speech.example/"),
    ],
)
async def test_a_proxy_that_cannot_be_used_is_an_error_that_says_so(
    proxy: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.setenv("ws_proxy", proxy)
    with pytest.raises(ConnectError, match=message) as caught:
        await open_to("ws://speech.example/")

    assert "s3cret" not in "".join(traceback.format_exception(caught.value))


async def test_a_proxy_that_refuses_is_not_taken_for_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    async with raw_server(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n") as target:
        monkeypatch.delenv("no_proxy", raising=False)
        monkeypatch.setenv("ws_proxy", target.replace("ws:", "http:"))
        with pytest.raises(ConnectError, match=r"through the proxy of the environment: .*407"):
            await open_to("ws://speech.example/")


async def test_neither_the_key_nor_text_nor_audio_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with serving(echo) as (_, target):
        transport = await open_to(target, api_key="s3cret")
        await transport.send("private words")
        await transport.receive()
        await transport.close()

    client_log = "".join(record.getMessage() for record in caplog.records if not record.name.startswith("tests."))
    assert "s3cret" not in client_log
    assert "private" not in client_log


def refusing(status: HTTPStatus, **headers: str) -> Callable[[ServerConnection, Request], Response]:
    def refuse(connection: ServerConnection, request: Request) -> Response:
        response = connection.respond(status, "no\n")
        response.headers.update(headers)
        return response

    return refuse


@pytest.mark.parametrize(
    ("status", "message", "retryable"),
    [
        (HTTPStatus.UNAUTHORIZED, "401: set ANTIPHON_API_KEY", False),
        (HTTPStatus.FORBIDDEN, "403: this key", False),
        (HTTPStatus.NOT_FOUND, "404: no speech stream", False),
        (HTTPStatus.SERVICE_UNAVAILABLE, "503: the server is not ready", True),
        (HTTPStatus.IM_A_TEAPOT, "418: I'm a", False),
    ],
)
async def test_a_refusal_says_what_to_do(status: HTTPStatus, message: str, retryable: bool) -> None:
    async with serving(echo, process_request=refusing(status)) as (_, target):
        with pytest.raises(ConnectError, match=message) as caught:
            await open_to(target + "?token=s3cret", api_key="s3cret")

    assert caught.value.retryable is retryable
    assert "s3cret" not in str(caught.value)


async def test_a_redirect_is_not_followed_because_it_would_carry_the_key_along() -> None:
    requests: list[Request] = []
    note = noting(requests)

    def redirect(connection: ServerConnection, request: Request) -> Response | None:
        note(connection, request)
        location = f"http://{request.headers['Host']}/elsewhere"
        refuse = refusing(HTTPStatus.FOUND, Location=location)
        return refuse(connection, request) if request.path == SPEECH_PATH else None

    async with serving(echo, process_request=redirect) as (_, target):
        with pytest.raises(ConnectError, match="302"):
            await open_to(target, api_key="s3cret")

    assert len(requests) == 1


async def test_a_port_where_nobody_listens_is_an_error_worth_another_try() -> None:
    async with serving(echo) as (_, target):
        pass
    with pytest.raises(ConnectError, match=r"cannot reach ws://127\.0\.0\.1") as caught:
        await open_to(target)

    assert caught.value.retryable


@asynccontextmanager
async def raw_server(answer: bytes) -> AsyncIterator[str]:
    done = asyncio.Event()

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if answer:
            writer.write(answer)
        else:
            await done.wait()
        writer.close()

    async with await asyncio.start_server(handler, "127.0.0.1", 0) as server:
        yield f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        done.set()


async def test_a_server_that_does_not_answer_is_given_up() -> None:
    async with raw_server(b"") as target:
        with pytest.raises(ConnectError, match=r"did not answer within 0\.1 s") as caught:
            await open_to(target, connect_timeout_s=0.1)

    assert caught.value.retryable


async def test_a_server_of_something_else_is_told_apart() -> None:
    async with raw_server(b"220 smtp ready\r\n") as target:
        with pytest.raises(ConnectError, match="is not a WebSocket server"):
            await open_to(target)


async def test_a_proxy_is_not_asked_for_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "ws_proxy", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    async with serving(echo) as (_, target):
        await (await open_to(target)).close()
        await (await open_to(target.replace("127.0.0.1", "localhost"))).close()


async def test_an_untrusted_certificate_is_refused(tls_server: str) -> None:
    with pytest.raises(ConnectError, match="TLS failed"):
        await open_to(tls_server)


async def test_an_authority_can_be_trusted_by_file_or_by_context(tls_server: str, ca_file: str) -> None:
    await (await open_to(tls_server, ca_file=ca_file)).close()
    await (await open_to(tls_server, ssl_context=ssl.create_default_context(cafile=ca_file))).close()


async def test_an_authority_that_cannot_be_read_is_named() -> None:
    with pytest.raises(ConnectError, match=r"authorities in missing\.pem"):
        await open_to("wss://127.0.0.1:1/", ca_file="missing.pem")


async def test_a_voice_speaks_over_a_socket() -> None:
    endpoint = FakeEndpoint()

    async def handler(connection: ServerConnection) -> None:
        transport = endpoint.connect()
        speaking = asyncio.create_task(_pump(transport, connection))
        async for message in connection:
            assert isinstance(message, str)
            await transport.send(message)
        await transport.close()
        await speaking

    async with serving(handler) as (_, target), connect(target, voice="ryan") as voice:
        events = [event async for event in voice.say(["Hello ", "there. ", "And goodbye."])]

    assert b"".join(event.data for event in events if isinstance(event, Audio)) == fake_speech(
        "Hello there."
    ) + fake_speech("And goodbye.")
    assert isinstance(events[-1], Finished)
    assert events[-1].statistics.connect_s > 0
    assert endpoint.voices == ["ryan", "ryan"]


async def _pump(transport: Transport, connection: ServerConnection) -> None:
    try:
        while True:
            await connection.send(await transport.receive())
    except ConnectionClosedError:
        return
