import asyncio
import json
from io import BytesIO
from typing import Any

import httpx
import pytest
import soundfile
from tests.server.driving import application, opened, served, shut, until

from antiphon.audio.wavfile import wav_header
from antiphon.engines.tone import ToneEngine, tone_pcm
from antiphon.server import units
from antiphon.testing.engines import FailingEngine, GatedEngine, SlowEngine

pytestmark = pytest.mark.anyio

TEXT = "A sentence of some length, for a test."
STREAM = {"input": TEXT, "stream_format": "audio"}
WHOLE = {"input": TEXT}


def error_of(response: httpx.Response) -> dict[str, Any]:
    error: dict[str, Any] = response.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert error["code"] == response.status_code
    return error


@pytest.mark.parametrize(
    ("file_format", "media_type"),
    [
        ("wav", "audio/wav"),
        ("pcm", "audio/pcm"),
        ("flac", "audio/flac"),
        ("mp3", "audio/mpeg"),
        ("opus", "audio/ogg"),
    ],
)
async def test_a_whole_file_in_every_format(file_format: str, media_type: str) -> None:
    async with application() as app:
        response = await app.speak(**WHOLE, response_format=file_format)
    assert response.status_code == 200
    assert response.headers["content-type"] == media_type
    assert int(response.headers["content-length"]) == len(response.content)
    if file_format == "pcm":
        assert response.content == tone_pcm(TEXT)
        return
    samples, sample_rate = soundfile.read(BytesIO(response.content), dtype="int16")
    assert sample_rate == 24_000
    assert len(samples) == pytest.approx(len(tone_pcm(TEXT)) // 2, rel=0.05)
    if file_format in {"wav", "flac"}:
        assert samples.tobytes() == tone_pcm(TEXT)


async def test_wav_is_the_default_format() -> None:
    async with application() as app:
        response = await app.speak(**WHOLE)
    assert response.content == wav_header(24_000, len(tone_pcm(TEXT))) + tone_pcm(TEXT)


@pytest.mark.parametrize(("file_format", "header"), [("pcm", b""), ("wav", wav_header(24_000))])
async def test_a_raw_stream(file_format: str, header: bytes) -> None:
    async with application() as app:
        response = await app.speak(**STREAM, response_format=file_format)
    assert response.status_code == 200
    assert response.headers["content-type"] == f"audio/{file_format}"
    assert "content-length" not in response.headers
    assert response.content == header + tone_pcm(TEXT)


async def test_a_stream_comes_while_it_is_made_and_a_whole_file_is_not_paced() -> None:
    engine = opened(GatedEngine())
    async with served(engine, pace="listener", max_lead_ms=100) as server, httpx.AsyncClient() as client:
        response = await client.post(f"{server.http}/v1/audio/speech", json=WHOLE, timeout=2)  # of 2.3 s
        assert response.status_code == 200
        shut(engine)
        engine.release()
        async with client.stream("POST", f"{server.http}/v1/audio/speech", json=STREAM) as stream:
            parts = stream.aiter_raw()  # kept: httpx hangs up when its iterator is gone
            got = await anext(parts)
            assert got.startswith(wav_header(24_000))
            await until(lambda: engine.steps_started == 2)
            engine.open()
    await server.running


async def test_speed_and_voice_reach_the_engine() -> None:
    async with application() as app:
        response = await app.speak(input=TEXT, speed=2.0, speaker="Ryan", response_format="pcm", language="english")
        assert response.content == tone_pcm(TEXT, speed=2.0)
        for voice in ("default", "DEFAULT", {"id": "sohee"}, None):
            assert (await app.speak(input=TEXT, voice=voice)).status_code == 200


@pytest.mark.parametrize(
    ("body", "status", "kind", "message"),
    [
        ({"input": ""}, 400, "BadRequestError", "Input text cannot be empty"),
        ({"input": " \n"}, 400, "BadRequestError", "Input text cannot be empty"),
        ({"input": TEXT, "voice": "nobody"}, 400, "BadRequestError", "Invalid voice 'nobody'. Supported: "),
        ({"input": TEXT, "language": "Klingon"}, 400, "BadRequestError", "Invalid language 'Klingon'"),
        ({"input": TEXT, "model": "x"}, 404, "NotFoundError", "The model `x` does not exist."),
        ({"input": TEXT, "task_type": "Base"}, 400, "BadRequestError", "does not support task_type='Base'"),
        ({}, 400, "Bad Request", "1 validation error:\n  input: Field required"),
        ({"input": 7, "speed": 9}, 400, "Bad Request", "2 validation errors:\n  speed: "),
        ({"input": TEXT, "ref_audio": "data:x"}, 400, "BadRequestError", "does not support task_type='Base'"),
        ({"input": TEXT, "ref_text": "x"}, 400, "BadRequestError", "does not support task_type='Base'"),
        (
            {"input": TEXT, "speaker_embedding": [0.5]},
            400,
            "BadRequestError",
            "'speaker_embedding' is only valid for Base task",
        ),
        (
            {"input": TEXT, "x_vector_only_mode": True},
            400,
            "BadRequestError",
            "'x_vector_only_mode' is only valid for Base task",
        ),
        (
            {"input": TEXT, "ref_audio": "data:x", "speaker_embedding": [0.5]},
            400,
            "Bad Request",
            "1 validation error:\n  body: Value error, 'speaker_embedding' and 'ref_audio' are mutually exclusive",
        ),
        ({"input": TEXT, "response_format": "aac"}, 400, "Bad Request", "response_format: "),
        ({"input": TEXT, "voice": {"name": "x"}}, 400, "Bad Request", "voice dict must contain 'id'"),
        (
            {**STREAM, "response_format": "mp3"},
            400,
            "BadRequestError",
            "Streaming needs response_format 'pcm' or 'wav'",
        ),
        ({**STREAM, "speed": 1.5}, 400, "BadRequestError", "Streaming is not supported with speed adjustment."),
        ({"input": TEXT, "stream": True}, 400, "BadRequestError", "Server-sent events are not supported"),
        ({"input": TEXT, "stream_format": "sse"}, 400, "BadRequestError", "Server-sent events are not supported"),
    ],
)
async def test_what_cannot_be_spoken_is_refused(body: dict[str, Any], status: int, kind: str, message: str) -> None:
    async with application() as app:
        steps = app.state.speaker.scheduler.statistics().steps
        response = await app.speak(**body)
        assert response.status_code == status
        error = error_of(response)
        assert error["type"] == kind
        assert message in error["message"]
        assert error["param"] == {404: "model"}.get(status, "response_format" if "needs" in message else None)
        assert app.state.speaker.scheduler.statistics().steps == steps


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b'{"input": "\\ud800"}', b"\xff", b"[" * 100_000])
async def test_a_body_that_is_not_such_json_is_refused(body: bytes) -> None:
    async with application() as app:
        headers = {"content-type": "application/json; charset=utf-8"}
        response = await app.http.post("/v1/audio/speech", content=body, headers=headers)
    assert response.status_code == 400
    assert error_of(response)["type"] == "Bad Request"


@pytest.mark.parametrize("headers", [{}, {"content-type": "text/plain"}, {"content-type": "application/jsonp"}])
async def test_another_content_type_is_refused_in_vllms_words(headers: dict[str, str]) -> None:
    async with application() as app:
        response = await app.http.post("/v1/audio/speech", content=json.dumps(WHOLE).encode(), headers=headers)
    assert response.status_code == 400
    assert error_of(response)["message"] == "Unsupported Media Type: Only 'application/json' is allowed"


async def test_a_body_that_is_too_large_is_refused_before_all_of_it_is_read() -> None:
    given = 0

    async def endless() -> Any:
        nonlocal given
        while True:
            given += 1
            yield b"x" * 1000

    async with application(max_body_bytes=10_000) as app:
        response = await app.http.post(
            "/v1/audio/speech", content=endless(), headers={"content-type": "application/json"}
        )
        assert response.status_code == 413
        assert "larger than 10000 bytes" in error_of(response)["message"]
        assert given <= 12


async def test_a_body_that_trickles_is_given_up() -> None:
    async def trickle() -> Any:
        while True:
            yield b" "
            await asyncio.sleep(0.02)

    async with application(config_timeout_s=0.1) as app:
        response = await app.http.post(
            "/v1/audio/speech", content=trickle(), headers={"content-type": "application/json"}
        )
        assert response.status_code == 408
        assert "longer than 0.1 s" in error_of(response)["message"]


@pytest.mark.parametrize("body", [WHOLE, STREAM], ids=["whole", "stream"])
async def test_at_capacity_the_answer_is_503_with_a_time_to_come_back(body: dict[str, Any]) -> None:
    engine = opened(GatedEngine())
    async with application(engine, max_speaking=1) as app:
        shut(engine)
        first = asyncio.create_task(app.speak(**body))
        await until(lambda: engine.steps_started == 1)
        second = await app.speak(**body)
        assert second.status_code == 503
        assert second.headers["retry-after"] == "1"
        assert error_of(second)["type"] == "ServiceUnavailableError"
        engine.open()
        assert (await first).status_code == 200
        assert (await app.speak(**body)).status_code == 200


@pytest.mark.parametrize("body", [WHOLE, STREAM], ids=["whole", "stream"])
async def test_an_engine_that_fails_at_once_is_an_error_500(body: dict[str, Any]) -> None:
    engine = FailingEngine(99)
    async with application(engine) as app:
        engine._fail_at = 0
        response = await app.speak(**body)
        assert response.status_code == 500
        assert error_of(response) == {
            "message": "the fake engine fails here",
            "type": "InternalServerError",
            "param": None,
            "code": 500,
        }
        engine._fail_at = 1
        assert (await app.speak(**WHOLE)).status_code == 500


@pytest.mark.parametrize("body", [WHOLE, STREAM], ids=["whole", "stream"])
async def test_the_words_of_an_unexpected_exception_stay_inside(
    body: dict[str, Any], caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    engine = FailingEngine(99, ValueError(f"cannot say {TEXT}"))
    async with application(engine) as app:
        engine._fail_at = 0
        response = await app.speak(**body)
        assert response.status_code == 500
        assert error_of(response)["message"] == "internal error"
        assert (await app.http.get("/health")).status_code == 200
    written = repr([vars(record) for record in caplog.records]) + repr(capfd.readouterr())
    assert "ValueError" in written
    assert TEXT not in written


async def test_a_stream_that_fails_midway_is_broken_off() -> None:
    engine = FailingEngine(99)
    async with served(engine) as server, httpx.AsyncClient() as client:
        engine._fail_at = 3
        got = bytearray()
        async with client.stream("POST", f"{server.http}/v1/audio/speech", json=STREAM) as response:
            assert response.status_code == 200
            with pytest.raises(httpx.RemoteProtocolError):
                await read_into(got, response)
        assert tone_pcm(TEXT, 0, 3 * 1920).startswith(bytes(got[44:]))
        assert (await client.get(f"{server.http}/ping")).status_code == 200


async def read_into(got: bytearray, response: httpx.Response) -> None:
    async for part in response.aiter_raw():
        got += part


async def test_a_file_has_a_longest_length(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(units, "MAX_FILE_S", 1)
    async with application() as app:
        response = await app.speak(**WHOLE)
        assert response.status_code == 400
        assert "longer than 1 s" in error_of(response)["message"]
        assert app.state.speaker.scheduler.statistics().speaking == 0
        assert (await app.speak(**STREAM)).status_code == 200


@pytest.mark.parametrize("body", [WHOLE, STREAM], ids=["whole", "stream"])
@pytest.mark.parametrize("steps", [0, 2])
async def test_no_step_starts_after_a_client_went_away(body: dict[str, Any], steps: int) -> None:
    engine = opened(GatedEngine())
    async with served(engine, workers=1) as server:
        shut(engine)
        engine.release(steps)
        scheduler = server.state.speaker.scheduler
        request = asyncio.create_task(post(server.http, body))
        await until(lambda: engine.steps_started == steps + 1)
        request.cancel()
        await until(lambda: scheduler.statistics().speaking == 0)
        await until(lambda: scheduler.statistics().stepping == 0)
        engine.open()
        assert engine.steps_started == steps + 1
        await until(lambda: server.state.requests == 0)


async def post(host: str, body: dict[str, Any]) -> None:
    async with httpx.AsyncClient() as client, client.stream("POST", f"{host}/v1/audio/speech", json=body) as response:
        await response.aread()


async def test_a_client_that_goes_away_while_it_waits_for_a_worker_never_has_a_step() -> None:
    engine = opened(GatedEngine())
    async with served(engine, workers=1) as server:
        shut(engine)
        first = asyncio.create_task(post(server.http, WHOLE))
        await until(lambda: engine.steps_started == 1)
        second = asyncio.create_task(post(server.http, WHOLE))
        await until(lambda: server.state.speaker.scheduler.statistics().ready == 1)
        second.cancel()
        await until(lambda: server.state.speaker.scheduler.statistics().ready == 0)
        assert engine.steps_started == 1
        engine.open()
        await first


async def test_a_client_that_goes_away_before_its_body_is_there_leaves_nothing() -> None:
    async with served() as server:
        host, _, port = server.host.partition(":")
        _, writer = await asyncio.open_connection(host, int(port))
        writer.write(b"POST /v1/audio/speech HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n")
        writer.write(b"Content-Length: 100\r\n\r\n{")
        await writer.drain()
        await until(lambda: server.state.requests == 1)
        writer.close()
        await until(lambda: server.state.requests == 0)


async def test_a_listener_that_never_reads_is_given_up_and_its_connection_closed() -> None:
    async with served(SlowEngine(0.0, chunk_ms=2000), send_timeout_s=0.3) as server:
        host, _, port = server.host.partition(":")
        # The kernels' buffers take seconds of audio; a long text overfills them.
        _, writer = await asyncio.open_connection(host, int(port), limit=1024)
        body = json.dumps({**STREAM, "input": "long " * 400, "max_new_tokens": 2048}).encode()
        sock = writer.get_extra_info("socket")
        writer.transport.pause_reading()  # type: ignore[attr-defined]  # a socket's transport has it
        writer.write(b"POST /v1/audio/speech HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n")
        writer.write(f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
        await until(lambda: server.state.requests == 1)
        before = server.state.speaker.scheduler.statistics().audio_s
        await until(lambda: server.state.requests == 0, 10)
        assert server.state.speaker.scheduler.statistics().audio_s - before < 163
        assert server.state.speaker.scheduler.statistics().speaking == 0
        assert sock.fileno() >= 0
        writer.close()


async def test_a_chunked_request_costs_one_watcher_and_not_one_per_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    made = 0
    create_task = asyncio.create_task

    def counting(*args: Any, **kwargs: Any) -> Any:
        nonlocal made
        made += 1
        return create_task(*args, **kwargs)

    async with application(ToneEngine(chunk_ms=10)) as app:
        monkeypatch.setattr(asyncio, "create_task", counting)
        await app.speak(**STREAM)  # 228 chunks
        monkeypatch.undo()
    assert made <= 8
