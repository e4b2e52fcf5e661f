import asyncio
import threading
import time
from dataclasses import replace
from typing import Any

import httpx
import pytest
from tests.server.driving import (
    DONE,
    STREAMED,
    Application,
    MemoryConnection,
    application,
    config,
    session,
    text,
    until,
)

from antiphon.audio.pcm import PcmChunk
from antiphon.engines.contract import EngineError, SpeechUnit, Synthesis
from antiphon.engines.hibari import HibariEngine
from antiphon.engines.qwen3 import MODEL, VOICES
from antiphon.engines.tone import ToneEngine, tone_pcm
from antiphon.testing.engines import GatedEngine

pytestmark = pytest.mark.anyio


class UnwillingEngine(ToneEngine):
    """Cannot be loaded."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self._error = error

    def load(self) -> None:
        raise self._error


async def statuses(app: Application) -> tuple[int, int]:
    return (await app.http.get("/ping")).status_code, (await app.http.get("/health")).status_code


async def test_ping_is_503_until_a_real_utterance_was_synthesised() -> None:
    engine = GatedEngine()
    async with application(engine, settle=False) as app:
        await until(lambda: engine.steps_started == 1)
        assert await statuses(app) == (503, 503)
        assert (await app.http.get("/health")).json() == {"status": "unhealthy", "reason": "loading"}
        speech = await app.speak(input="Hm.")
        assert (speech.status_code, speech.headers["retry-after"]) == (503, "1")
        assert speech.json()["error"]["message"] == "The engine is still loading"
        engine.open()
        await app.state.speaker.settled()
        assert await statuses(app) == (200, 200)
        assert (await app.http.post("/ping")).status_code == 200
        assert (await app.http.get("/ping")).content == b""
        assert (await app.http.get("/health")).json() == {"status": "healthy"}


@pytest.mark.parametrize("error", [EngineError("no weights here"), OSError("no weights here")])
async def test_an_engine_that_cannot_load_is_said_to_be_unable(error: Exception) -> None:
    async with application(UnwillingEngine(error)) as app:
        assert await statuses(app) == (503, 503)
        assert "no weights here" in (await app.http.get("/health")).json()["reason"]
        response = await app.speak(input="Hm.")
        assert response.status_code == 503
        assert "retry-after" not in response.headers
        assert "The engine cannot speak" in response.json()["error"]["message"]


async def test_an_engine_that_gives_no_audio_is_not_ready() -> None:
    engine = ToneEngine()
    engine.synthesize = lambda _: Silence()  # type: ignore[method-assign,assignment,return-value]  # not all of one
    async with application(engine) as app:
        assert await statuses(app) == (503, 503)
        assert "gave no audio" in (await app.http.get("/health")).json()["reason"]


class CostlyEngine(ToneEngine):
    """Says that it is cheap, and takes CPU for as long as its audio lasts, or a part of that.

    Args:
        declared: its real-time factor, as it says.
        real: as it is.
    """

    def __init__(self, declared: float, real: float) -> None:
        super().__init__()
        self.info = replace(self.info, rtf=declared, step_ms=1.0)
        self._real = real

    def synthesize(self, unit: SpeechUnit) -> Any:
        return CostlySynthesis(super().synthesize(unit), self._real)


class CostlySynthesis:
    """One unit of it."""

    def __init__(self, inner: Synthesis, rtf: float) -> None:
        self._inner = inner
        self._rtf = rtf

    @property
    def exhausted(self) -> bool:
        return self._inner.exhausted

    def __next__(self) -> PcmChunk:
        chunk = next(self._inner)
        until_s = time.thread_time() + chunk.duration_s * self._rtf
        while time.thread_time() < until_s:
            pass
        return chunk

    def close(self) -> None:
        self._inner.close()


@pytest.mark.parametrize(
    ("declared", "real", "least", "most"),
    [(0.001, 0.02, 20, 35), (0.2, 0.001, 3, 3)],
    ids=["slower than it says", "faster than it says"],
)
async def test_no_more_are_admitted_than_the_engine_can_serve_here(
    declared: float, real: float, least: int, most: int
) -> None:
    async with application(CostlyEngine(declared, real), workers=1) as app:
        assert least <= app.state.speaker.scheduler.max_speaking <= most


async def test_who_sets_a_number_gets_it() -> None:
    async with application(CostlyEngine(0.001, 0.02), max_speaking=500) as app:
        assert app.state.speaker.scheduler.max_speaking == 500


class Silence:
    """A unit without a chunk."""

    exhausted = False

    def __next__(self) -> Any:
        raise StopIteration

    def close(self) -> None:
        pass


async def test_a_server_that_ends_while_its_engine_loads_does_not_wait_for_it() -> None:
    engine = GatedEngine()
    threads, tasks = threading.active_count(), asyncio.all_tasks()
    async with application(engine, settle=False):
        await until(lambda: engine.steps_started == 1)
    assert asyncio.all_tasks() == tasks
    assert threading.active_count() <= threads + 1  # the loop's own executor


async def test_ping_is_503_while_draining() -> None:
    async with application() as app:
        assert await app.state.drain(1)
        assert await statuses(app) == (503, 503)
        assert (await app.http.get("/health")).json()["reason"] == "shutting down"
        response = await app.speak(input="Hm.")
        assert (response.status_code, response.headers["retry-after"]) == (503, "1")


async def test_models_are_listed_as_openai_does() -> None:
    async with application(model_name="voice-1") as app:
        listed = (await app.http.get("/v1/models")).json()
        assert listed["object"] == "list"
        (model,) = listed["data"]
        assert model.pop("created") > 1_700_000_000
        assert model == {"id": "voice-1", "object": "model", "owned_by": "antiphon"}
        assert (await app.speak(input="Hm.", model="voice-1")).status_code == 200
        assert (await app.speak(input="Hm.", model=MODEL)).status_code == 404
    async with application() as app:
        assert (await app.http.get("/v1/models")).json()["data"][0]["id"] == MODEL


async def test_voices_are_listed_as_vllm_omni_does() -> None:
    async with application() as app:
        listed = (await app.http.get("/v1/audio/voices")).json()
    assert listed["voices"] == sorted([*VOICES, "default"])
    assert listed["uploaded_voices"] == []
    assert listed["details"][0]["name"] == VOICES[0]


async def test_aliases_and_derived_voices_are_shown_as_such() -> None:
    info = HibariEngine().info
    async with application(HibariEngine(), settle=False) as app:
        listed = (await app.http.get("/v1/audio/voices")).json()
    assert set(listed["voices"]) == {voice.name for voice in info.voices} | set(info.aliases) | {"default"}
    assert {voice["name"]: voice["derived_from"] for voice in listed["details"]} == {
        voice.name: voice.derived_from for voice in info.voices
    }
    assert sorted(alias for voice in listed["details"] for alias in voice["aliases"]) == sorted(info.aliases)


@pytest.mark.parametrize(
    ("method", "path", "status", "kind"),
    [
        ("GET", "/v1/nothing", 404, "Not Found"),
        ("GET", "/v1/audio/speech", 405, "Method Not Allowed"),
        ("DELETE", "/v1/models", 405, "Method Not Allowed"),
        ("GET", "/invocations", 405, "Method Not Allowed"),
    ],
)
async def test_what_there_is_not_is_said_in_vllms_shape(method: str, path: str, status: int, kind: str) -> None:
    async with application() as app:
        response = await app.http.request(method, path)
    assert response.status_code == status
    assert response.json()["error"]["type"] == kind
    assert response.json()["error"]["code"] == status
    assert ("allow" in response.headers) == (status == 405)


@pytest.mark.parametrize(
    ("attributes", "status"),
    [
        (None, 200),
        ("route=/v1/audio/speech", 200),
        ("trace=7,route=/v1/audio/speech,other=1", 200),
        ("something=else", 200),
        ("route=/v1/nothing", 404),
        ("route=/invocations", 404),
        ("route=/v1/models", 404),
        ("route=/ping", 404),
    ],
)
async def test_invocations_go_to_the_route_that_the_header_names(attributes: str | None, status: int) -> None:
    headers = {} if attributes is None else {"X-Amzn-SageMaker-Custom-Attributes": attributes}
    async with application() as app:
        body = {"input": "Invoked.", "response_format": "pcm"}
        response = await app.http.post("/invocations", json=body, headers=headers)
    assert response.status_code == status
    if status == 200:
        assert response.content == tone_pcm("Invoked.")
    else:
        error = response.json()["error"]
        assert error["type"] == "NotFoundError"
        assert error["message"].endswith("may name: /v1/audio/speech")


async def test_errors_behind_invocations_are_those_of_the_route() -> None:
    async with application() as app:
        response = await app.http.post("/invocations", json={"input": ""})
        assert response.status_code == 400
        response = await app.http.post("/invocations", content=b"", headers={"content-type": "text/csv"})
        assert response.status_code == 400


def numbers(exposition: str) -> dict[str, float]:
    lines = [line.rpartition(" ") for line in exposition.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, _, value in lines}


async def metrics(app: Application) -> dict[str, float]:
    response = await app.http.get("/metrics")
    assert response.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    return numbers(response.text)


async def test_metrics_count_what_happened() -> None:
    connection = MemoryConnection()
    async with application(max_speaking=3) as app:
        before = await metrics(app)
        async with session(app.state, connection):
            connection.say(config(**STREAMED), text("Ten chars."), DONE)
            await connection.until("session.done")
            during = await metrics(app)
        await app.speak(input="Hm.", voice="nobody")
        after = await metrics(app)
    assert during["antiphon_open_sessions"] == 1
    assert after["antiphon_open_sessions"] == 0
    assert after['antiphon_sessions_total{outcome="served"}'] == 1
    assert after["antiphon_audio_seconds_total"] - before["antiphon_audio_seconds_total"] == pytest.approx(0.6)
    assert after["antiphon_steps_total"] - before["antiphon_steps_total"] == 8
    units = 'antiphon_units_total{outcome="complete"}'
    assert after[units] - before[units] == 1
    assert after['antiphon_units_total{outcome="failed"}'] == 0
    assert after['antiphon_units_total{outcome="closed"}'] == 0
    assert after["antiphon_first_chunk_seconds_count"] - before["antiphon_first_chunk_seconds_count"] == 1
    assert after["antiphon_speaking_limit"] == 3
    assert after["antiphon_speaking"] == after["antiphon_steps_waiting"] == after["antiphon_steps_running"] == 0
    assert after["antiphon_refused_total"] == 0
    assert 0 < after["antiphon_synthesis_seconds_total"] < 1


async def test_metrics_have_no_words_of_a_client() -> None:
    async with application() as app:
        await app.speak(input="Confidential.", voice="Secretvoice", model=MODEL)
        await app.http.get("/v1/Secretpath")
        exposition = (await app.http.get("/metrics")).text
    assert "onfidential" not in exposition
    assert "ecret" not in exposition


def keyed(key: str | bytes | None) -> dict[str, Any]:
    return {} if key is None else {"headers": {"Authorization": key}}


@pytest.mark.parametrize(
    "key", [None, "", "sesame", "Basic sesame", "Bearer", "Bearer ", "Bearer sesam", b"Bearer \xff"]
)
async def test_without_the_key_there_is_only_401(key: str | bytes | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTIPHON_API_KEY", "sesame")
    async with application() as app:
        for method, path in (("GET", "/v1/models"), ("POST", "/v1/audio/speech"), ("POST", "/invocations")):
            response = await app.http.request(method, path, **keyed(key))
            assert response.status_code == 401
            assert response.json() == {"error": "Unauthorized"}
            assert response.headers["www-authenticate"] == "Bearer"
        assert (await app.http.get("/metrics", **keyed(key))).status_code == 401
        assert await statuses(app) == (200, 200)


@pytest.mark.parametrize("key", ["Bearer sesame", "bearer sesame"])
async def test_with_the_key_everything_is_open(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTIPHON_API_KEY", "sesame\n")
    async with application() as app:
        for path in ("/v1/models", "/v1/audio/voices", "/metrics"):
            assert (await app.http.get(path, **keyed(key))).status_code == 200
        body = {"input": "Hm."}
        assert (await app.http.post("/invocations", json=body, **keyed(key))).status_code == 200


async def test_of_two_keys_none_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTIPHON_API_KEY", "sesame")
    right, wrong = ("Authorization", "Bearer sesame"), ("Authorization", "Bearer sesam")
    async with application() as app:
        for given in ([right, wrong], [wrong, right], [right, right]):
            assert (await app.http.get("/v1/models", headers=httpx.Headers(given))).status_code == 401
