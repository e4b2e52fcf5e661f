"""Speech over boto3's InvokeEndpointWithResponseStream: the real boto3 against a server that answers as it is told."""

import asyncio
import logging
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.client.listening import audio, heard
from tests.client.sagemaker.fake_runtime import (
    RATE,
    BreakOffError,
    FakeRuntime,
    Request,
    Response,
    exception,
    fake_runtime,
    part,
    speech,
    spelled,
)

from antiphon.audio.wavfile import wav_header
from antiphon.client.errors import ConnectError, ConnectionLostError, GenerationError, TargetError
from antiphon.client.events import Audio
from antiphon.client.options import session_config
from antiphon.client.sagemaker import invocation
from antiphon.client.sagemaker.invoke import MAX_ATTEMPTS, open_invoke
from antiphon.client.sagemaker.invoke_transport import InvokeTransport
from antiphon.client.targets import ConnectOptions
from antiphon.client.transport import ConnectionClosedError, Transport
from antiphon.client.voice import Voice
from antiphon.protocol.messages import InputDone, InputText, SessionClose

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("account", "no_task_is_left")]


@pytest.fixture
def account(aws: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A region where boto3 looks for it; returns an empty configuration file."""
    aws.delenv("AWS_REGION")
    aws.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    config = tmp_path / "config"
    config.touch()
    return config


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch, account: Path) -> Iterator[FakeRuntime]:
    with fake_runtime() as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL_SAGEMAKER_RUNTIME", server.url)
        yield server


async def connect(target: str = "sagemaker-invoke://tts", **options: Any) -> InvokeTransport:
    transport = await open_invoke(target, ConnectOptions(**options))
    assert isinstance(transport, Transport)
    return transport


async def voice(target: str = "sagemaker-invoke://tts") -> Voice:
    return Voice(await connect(target), {"voice": "ryan"})


async def until_closed(transport: InvokeTransport) -> ConnectionClosedError:
    return (await all_messages(transport))[1]


async def all_messages(transport: InvokeTransport) -> tuple[list[str | bytes], ConnectionClosedError]:
    messages: list[str | bytes] = []
    try:
        async with asyncio.timeout(10):
            while True:
                messages.append(await transport.receive())
    except ConnectionClosedError as closed:
        return messages, closed


async def say(transport: InvokeTransport, *texts: str) -> None:
    await transport.send(session_config({}).to_json())
    for text in texts:
        await transport.send(InputText(text=text).to_json())
        await transport.send(InputDone().to_json())


async def test_each_unit_is_an_invocation_of_the_route_its_attributes_name(runtime: FakeRuntime) -> None:
    async with await voice("sagemaker-invoke://tts?variant=Blue&region=us-west-2") as speaker:
        events = await heard(speaker.say("One two. Three four."))

    assert [request.body["input"] for request in runtime.requests] == ["One two.", "Three four."]
    assert audio(events) == spelled("One two.Three four.")
    assert {event.sample_rate for event in events if isinstance(event, Audio)} == {RATE}
    request = runtime.requests[0]
    assert request.path == "/endpoints/tts/invocations-response-stream"
    assert request.body["voice"] == "ryan"
    assert request.headers["content-type"] == "application/json"
    assert request.headers["x-amzn-sagemaker-custom-attributes"] == "route=/v1/audio/speech"
    assert request.headers["x-amzn-sagemaker-target-variant"] == "Blue"
    assert "/us-west-2/sagemaker/" in request.headers["authorization"]


async def test_a_target_may_name_another_path_and_another_runtime(runtime: FakeRuntime) -> None:
    async with await voice(f"sagemaker-invoke://tts?path=v2/say&endpoint_url={runtime.url}") as speaker:
        await heard(speaker.say("Hello."))

    assert runtime.requests[0].headers["x-amzn-sagemaker-custom-attributes"] == "route=/v2/say"


async def test_audio_is_heard_before_the_answer_ends(runtime: FakeRuntime) -> None:
    hear = threading.Event()

    def answer(_: Request) -> Response:
        def parts() -> Iterator[bytes]:
            yield from speech(b"\1\2")
            assert hear.wait(10)
            yield part(b"\3\4")

        return Response(parts())

    runtime.answer = answer
    async with await voice() as speaker:
        chunks = []
        async for event in speaker.say("Hello."):
            if isinstance(event, Audio):
                chunks.append(event.data)
                hear.set()
    assert chunks == [b"\1\2", b"\3\4"]


async def test_a_container_that_refuses_fails_the_unit_alone(runtime: FakeRuntime) -> None:
    def answer(request: Request) -> Response:
        if request.body["voice"] == "ryan":
            return Response(speech(b"\1\2"))
        words = '{"error":{"message":"Invalid voice \'nobody\'."}}'
        fields = {"Message": "Received client error", "OriginalStatusCode": 400, "OriginalMessage": words}
        return Response(status=424, error="ModelError", fields=fields)

    runtime.answer = answer
    async with await voice() as speaker:
        with pytest.raises(GenerationError, match="Invalid voice 'nobody'") as caught:
            await heard(speaker.say("Hello.", voice="nobody"))
        assert not caught.value.partial_audio
        assert audio(await heard(speaker.say("Hello."))) == b"\1\2"
    assert len(runtime.requests) == 2


@pytest.mark.parametrize("name", ["ModelStreamError", "InternalStreamFailure"])
async def test_a_container_that_breaks_off_fails_the_unit_alone(runtime: FakeRuntime, name: str) -> None:
    def answer(_: Request) -> Response:
        broken = [*speech(b"\1\2"), exception(name, Message="the engine died")]
        return Response(broken if len(runtime.requests) == 1 else speech(b"\3\4"))

    runtime.answer = answer
    async with await voice() as speaker:
        with pytest.raises(GenerationError, match="the engine died") as caught:
            await heard(speaker.say("Hello."))
        assert caught.value.partial_audio
        assert audio(await heard(speaker.say("Again."))) == b"\3\4"
    assert len(runtime.requests) == 2


@pytest.mark.parametrize(
    ("status", "error", "retryable"),
    [
        (400, "ValidationError", False),
        (403, "AccessDeniedException", False),
        (400, "ThrottlingException", True),
        (429, "ModelNotReadyException", True),
        (503, "ServiceUnavailable", True),
    ],
)
async def test_a_service_that_refuses_ends_the_session(
    runtime: FakeRuntime, monkeypatch: pytest.MonkeyPatch, status: int, error: str, *, retryable: bool
) -> None:
    monkeypatch.setattr("botocore.retries.standard.ExponentialBackoff.delay_amount", lambda *_: 0.0)
    runtime.answer = lambda _: Response(status=status, error=error, fields={"Message": "because"})
    async with await voice() as speaker:
        with pytest.raises(ConnectionLostError, match=f"{error}: because") as caught:
            await heard(speaker.say("Hello."))

    assert caught.value.retryable is retryable
    assert len(runtime.requests) == (MAX_ATTEMPTS if retryable else 1)


async def test_a_connection_that_breaks_is_not_tried_again_once_there_was_audio(runtime: FakeRuntime) -> None:
    def answer(_: Request) -> Response:
        def parts() -> Iterator[bytes]:
            yield from speech(b"\1\2")
            raise BreakOffError

        return Response(parts())

    runtime.answer = answer
    events: list[Any] = []
    async with await voice() as speaker:
        with pytest.raises(ConnectionLostError, match="connection to SageMaker failed") as caught:
            await heard(speaker.say("Hello."), events)

    assert audio(events) == b"\1\2"
    assert caught.value.retryable
    assert len(runtime.requests) == 1


@pytest.mark.parametrize(
    ("host", "said"),
    [
        ("127.0.0.1:9", r"127\.0\.0\.1:9: connection refused; does it run, and is the port right\?"),
        ("nowhere.invalid", r"nowhere\.invalid: .+; is the region right\?"),
    ],
)
async def test_nobody_there(monkeypatch: pytest.MonkeyPatch, host: str, said: str) -> None:
    look_up = socket.getaddrinfo

    def offline(name: Any, *arguments: Any, **options: Any) -> Any:
        if name == "nowhere.invalid":
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return look_up(name, *arguments, **options)

    monkeypatch.setattr(socket, "getaddrinfo", offline)
    monkeypatch.setattr("botocore.retries.standard.ExponentialBackoff.delay_amount", lambda *_: 0.0)
    async with await voice(f"sagemaker-invoke://tts?endpoint_url=http://{host}") as speaker:
        with pytest.raises(ConnectionLostError, match="SageMaker cannot be reached") as caught:
            await heard(speaker.say("Hello."))
    assert re.search(said, str(caught.value))
    assert caught.value.retryable


@pytest.mark.parametrize(
    ("error", "advice"),
    [
        ("ValidationError", "check the endpoint's name, its variant and the region"),
        ("InvalidSignatureException", "check the secret key, the region and this machine's clock"),
        ("ExpiredTokenException", "aws sso login"),
        ("AccessDeniedException", "sagemaker:InvokeEndpointWithResponseStream"),
    ],
)
async def test_what_is_refused_says_what_to_do(runtime: FakeRuntime, error: str, advice: str) -> None:
    runtime.answer = lambda _: Response(status=400, error=error, fields={"Message": "It cannot be."})
    async with await voice() as speaker:
        with pytest.raises(ConnectionLostError, match=rf"{error}: It cannot be; .*{advice}"):
            await heard(speaker.say("Hello."))


@pytest.mark.parametrize("garbage", [b"\0" * 64, wav_header(RATE) * 4])
async def test_an_answer_that_cannot_be_read_ends_the_session(runtime: FakeRuntime, garbage: bytes) -> None:
    runtime.answer = lambda _: Response([garbage])
    transport = await connect()
    await say(transport, "Hello.")

    closed = await until_closed(transport)
    await transport.close()

    assert (closed.code, "cannot be read" in closed.reason) == (1006, True)


async def test_what_is_no_audio_fails_the_unit_and_is_broken_off(runtime: FakeRuntime) -> None:
    stop = threading.Event()

    def answer(_: Request) -> Response:
        def parts() -> Iterator[bytes]:
            while not stop.wait(0.01):
                yield part(b"event: speech.audio.delta\n" * 1000)

        return Response(parts())

    runtime.answer = answer
    async with await voice() as speaker:
        with pytest.raises(GenerationError, match="something else than WAV"):
            await heard(speaker.say("Hello."))
        assert await asyncio.to_thread(runtime.hung_up.wait, 10)
    stop.set()


async def test_closing_breaks_off_an_answer_that_flows(runtime: FakeRuntime) -> None:
    def answer(_: Request) -> Response:
        def parts() -> Iterator[bytes]:
            yield part(wav_header(RATE))
            while True:
                yield part(bytes(4096))

        return Response(parts())

    runtime.answer = answer
    transport = await connect()
    await say(transport, "Hello.")
    while isinstance(await transport.receive(), str):
        pass
    waiting = asyncio.create_task(until_closed(transport))

    await transport.close(1000, "enough")

    assert await asyncio.to_thread(runtime.hung_up.wait, 10)
    assert (await waiting).reason == "enough"
    with pytest.raises(ConnectionClosedError):
        await transport.send(InputText(text="more").to_json())


async def test_closing_wakes_a_thread_that_waits_for_audio(runtime: FakeRuntime) -> None:
    silent = threading.Event()

    def answer(_: Request) -> Response:
        def parts() -> Iterator[bytes]:
            yield from speech(b"\1\2")
            silent.wait(60)
            yield part(b"\3\4")

        return Response(parts())

    runtime.answer = answer
    transport = await connect()
    await say(transport, "Hello.")
    while isinstance(await transport.receive(), str):
        pass
    (thread,) = (thread for thread in threading.enumerate() if thread.name == "antiphon-invocation")

    await transport.close()
    await asyncio.to_thread(thread.join, 10)

    assert not thread.is_alive()
    assert not silent.is_set()
    silent.set()


async def test_closing_does_not_wait_for_an_answer_that_has_not_begun(
    runtime: FakeRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("antiphon.client.sagemaker.invoke_transport.CLOSE_TIMEOUT_S", 0.1)
    asked, go_on = threading.Event(), threading.Event()

    def answer(_: Request) -> Response:
        asked.set()
        assert go_on.wait(10)
        return Response(status=503, error="ServiceUnavailable")

    runtime.answer = answer
    transport = await connect()
    await say(transport, "Hello.")
    waiting = asyncio.create_task(until_closed(transport))
    assert await asyncio.to_thread(asked.wait, 10)
    (thread,) = (thread for thread in threading.enumerate() if thread.name == "antiphon-invocation")

    await transport.close()
    await transport.close()

    assert (await waiting).code == 1000
    assert thread.is_alive()
    assert thread.daemon
    go_on.set()
    await asyncio.to_thread(thread.join, 10)
    assert len(runtime.requests) == 1  # and is not tried again


async def test_who_does_not_listen_slows_the_server_down(runtime: FakeRuntime) -> None:
    size = 2**20
    sent = 0

    def answer(_: Request) -> Response:
        def parts() -> Iterator[bytes]:
            nonlocal sent
            yield part(wav_header(RATE))
            for _ in range(64):
                sent += 1
                yield part(bytes(size))

        return Response(parts())

    runtime.answer = answer
    transport = await connect()
    await say(transport, "Hello.")
    await transport.receive()
    before = -1
    while sent != before:
        before = sent
        await asyncio.sleep(0.3)

    assert sent < 32  # of 64: what waits here, and what the sockets hold
    await transport.close()


async def test_at_most_so_many_invocations_are_under_way(runtime: FakeRuntime, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(invocation, "_under_way", threading.BoundedSemaphore(1))
    asked, go_on = threading.Event(), threading.Event()

    def answer(_: Request) -> Response:
        asked.set()
        assert go_on.wait(10)
        return Response(speech(b"\1\2"))

    runtime.answer = answer
    async with await voice() as first, await voice() as second:
        speaking = asyncio.create_task(heard(first.say("Hello.")))
        assert await asyncio.to_thread(asked.wait, 10)
        with pytest.raises(GenerationError, match="invocations are under way"):
            await heard(second.say("Hello."))
        go_on.set()
        assert audio(await speaking) == b"\1\2"
        assert audio(await heard(second.say("Hello."))) == b"\1\2"


async def test_a_session_that_is_closed_by_its_client_ends_after_its_last_audio(runtime: FakeRuntime) -> None:
    transport = await connect()
    await say(transport, "Hello!")
    await transport.send(SessionClose().to_json())

    messages, closed = await all_messages(transport)
    await transport.close()

    assert spelled("Hello!") in messages
    assert '"session.done"' in str(messages[-1])
    assert closed.code == 1000


async def test_too_much_that_waits_makes_the_sender_wait(runtime: FakeRuntime) -> None:
    transport = await connect()
    sending = asyncio.create_task(say(transport, *(["Hello."] * 100)))
    done, _ = await asyncio.wait({sending}, timeout=0.2)
    assert not done

    async with asyncio.timeout(20):
        count = 0
        while count < 100:
            count += "session.done" in str(await transport.receive())
        await sending
    await transport.close()


async def test_neither_text_nor_audio_is_logged(runtime: FakeRuntime, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with await voice() as speaker:
        await heard(speaker.say("Psst, secret."))

    assert runtime.requests
    assert "Psst" not in caplog.text
    assert any(record.name.startswith("botocore") for record in caplog.records)


# What is told before anything is called.


async def test_no_credentials_are_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    with pytest.raises(ConnectError, match="no AWS credentials"):
        await connect()


async def test_no_region_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    with pytest.raises(TargetError, match="no AWS region"):
        await connect()


async def test_the_region_may_come_as_the_other_sdks_read_it(
    runtime: FakeRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_REGION", "ap-south-1")
    async with await voice() as speaker:
        await heard(speaker.say("Hello."))

    assert "/ap-south-1/" in runtime.requests[0].headers["authorization"]


@pytest.fixture
def profile(account: Path) -> str:
    keys = "aws_access_key_id = AKIDOTHER\naws_secret_access_key = x\n"
    account.write_text(f"[profile other]\nregion = us-east-2\n{keys}", encoding="utf-8")
    return "other"


async def test_a_profile_is_used(runtime: FakeRuntime, profile: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    async with await voice(f"sagemaker-invoke://tts?profile={profile}") as speaker:
        await heard(speaker.say("Hello."))

    assert "AKIDOTHER/" in runtime.requests[0].headers["authorization"]
    assert "/us-east-2/" in runtime.requests[0].headers["authorization"]


@pytest.mark.parametrize(
    ("target", "options", "message"),
    [
        (
            "sagemaker-invoke://tts?profile=nobody",
            {},
            "there is no AWS profile 'nobody'; `aws configure list-profiles`",
        ),
        ("sagemaker-invoke://tts", {"ca_file": "/nowhere.pem"}, "cannot read the authorities in /nowhere.pem"),
        ("sagemaker-invoke://tts", {"ssl_context": object()}, "pass ca_file"),
    ],
)
async def test_what_cannot_be_is_told_at_once(target: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises((ConnectError, TargetError), match=message):
        await connect(target, **options)


async def test_slow_credentials_are_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    go_on = threading.Event()
    monkeypatch.setattr("botocore.session.Session.get_credentials", lambda _: go_on.wait(10))
    try:
        with pytest.raises(ConnectError, match=r"within 0\.05 s") as caught:
            await connect(connect_timeout_s=0.05)
    finally:
        go_on.set()
    assert caught.value.retryable


async def test_an_authority_that_is_not_trusted_is_told(tls_runtime: str) -> None:
    async with await voice(f"sagemaker-invoke://tts?endpoint_url={tls_runtime}") as speaker:
        with pytest.raises(ConnectionLostError, match=r"TLS with SageMaker failed.*set AWS_CA_BUNDLE") as caught:
            await heard(speaker.say("Hello."))
    assert not caught.value.retryable


@pytest.fixture
def tls_runtime(certificate: tuple[Path, Path]) -> Iterator[str]:
    with fake_runtime(certificate) as server:
        yield server.url


async def test_an_authority_may_be_named(tls_runtime: str, ca_file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    target = f"sagemaker-invoke://tts?endpoint_url={tls_runtime}"
    async with Voice(await connect(target, ca_file=ca_file)) as speaker:
        assert audio(await heard(speaker.say("Hello!"))) == spelled("Hello!")
    for variable in ("SSL_CERT_FILE", "AWS_CA_BUNDLE"):
        with monkeypatch.context() as environment:
            environment.setenv(variable, ca_file)
            async with await voice(target) as speaker:
                assert audio(await heard(speaker.say("Hello!"))) == spelled("Hello!")


async def test_without_boto3_it_says_what_to_install() -> None:
    program = """
import asyncio, sys
sys.modules["botocore"] = None
from antiphon.client.errors import ConnectError
from antiphon.client.sagemaker.invoke import open_invoke
from antiphon.client.targets import ConnectOptions
try:
    asyncio.run(open_invoke("sagemaker-invoke://tts", ConnectOptions()))
except ConnectError as error:
    print(error)
"""
    done = await asyncio.to_thread(
        subprocess.run, [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    assert "pip install 'antiphon[sagemaker]'" in done.stdout
