"""A client that speaks over HTTP hears what it would hear from a stock server."""

import json
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.audio.wavfile import wav_header
from antiphon.client.http_speech import MAX_ERROR_CHARACTERS, SPEECH_PATH, HttpSpeech
from antiphon.client.options import SpeechOptions, session_config
from antiphon.engines import qwen3
from antiphon.engines.tone import tone_length, tone_pcm
from antiphon.protocol.client_events import ClientEvent, SpeechAudio, SpeechSkipped, SpeechStarted, UtteranceFailed
from antiphon.protocol.client_session import ClientSession
from antiphon.protocol.limits import Limits
from antiphon.protocol.messages import InputDone, InputText, SessionClose
from antiphon.protocol.speech_body import SpeechRequest, find_unstreamable
from antiphon.server.child import child_server

RATE = 16_000
JSON = {"content-type": "application/json"}
FAILED = "Generation failed for utterance 0, sentence 0: "


def config(**options: Any) -> str:
    return session_config(SpeechOptions(**options)).to_json()  # type: ignore[typeddict-item]  # of the test's choosing


def flush(text: str) -> list[str]:
    return [InputText(text=text).to_json(), InputDone().to_json()]


def speech(*messages: str) -> HttpSpeech:
    session = HttpSpeech()
    for message in [config(), *messages]:
        session.receive(message)
    return session


def heard(session: HttpSpeech) -> list[Any]:
    """Messages: parsed JSON or audio."""
    return [message if isinstance(message, bytes) else json.loads(message) for message in session.messages()]


def kinds(session: HttpSpeech) -> list[str]:
    return ["audio" if isinstance(message, bytes) else message["type"] for message in heard(session)]


def asked(session: HttpSpeech) -> dict[str, Any]:
    body = session.next_request()
    assert body is not None
    fields: dict[str, Any] = json.loads(body)
    return fields


def answer(session: HttpSpeech, samples: bytes) -> None:
    session.receive_audio(wav_header(RATE) + samples)
    session.finish()


def test_a_flush_is_one_request_that_streams() -> None:
    session = speech(config(voice="ryan", seed=7), InputText(text=" Hello").to_json(), *flush(", wörld. "))

    body = session.next_request()

    assert body is not None
    assert json.loads(body) == {
        "input": "Hello, wörld.",
        "voice": "ryan",
        "seed": 7,
        "response_format": "wav",
        "stream": True,
        "stream_format": "audio",
    }
    assert find_unstreamable(SpeechRequest.model_validate_json(body)) is None
    assert session.next_request() is None
    assert heard(session) == []


def test_the_answer_is_told_as_a_stock_server_tells_it() -> None:
    session = speech(*flush("Hello."))
    asked(session)

    answer(session, b"\1\2\3\4")

    index = {"utterance_index": 0, "sentence_index": 0}
    assert heard(session) == [
        {"type": "audio.start", **index, "sentence_text": "Hello.", "format": "pcm", "sample_rate": RATE},
        b"\1\2\3\4",
        {"type": "audio.done", **index, "total_bytes": 4, "error": False},
        {"type": "session.done", "utterance_index": 0, "total_sentences": 1},
    ]
    assert not session.speaking


def test_audio_starts_with_the_header_and_not_before() -> None:
    session = speech(*flush("Hello."))
    asked(session)

    session.receive_audio(wav_header(RATE)[:-1])
    assert kinds(session) == []
    session.receive_audio(wav_header(RATE)[-1:])
    assert kinds(session) == ["audio.start"]


def test_the_next_request_waits_for_the_end_of_the_one_before() -> None:
    session = speech(*flush("One."), *flush("Two."))

    assert asked(session)["input"] == "One."
    assert session.next_request() is None
    answer(session, b"")
    assert asked(session)["input"] == "Two."


@pytest.mark.parametrize("text", ["", " \n "])
def test_a_flush_without_text_asks_for_nothing(text: str) -> None:
    session = speech(*flush(text))

    assert session.next_request() is None
    assert heard(session) == [{"type": "session.done", "utterance_index": 0, "total_sentences": 0}]


@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        (400, '{"error":{"message":"Invalid voice \'x\'.","type":"BadRequestError"}}', "Invalid voice 'x'."),
        (401, '{"error":"Unauthorized"}', "Unauthorized"),
        (502, "Bad gateway\n", "Bad gateway"),
        (500, "", "HTTP status 500"),
        (500, '{"error":{"message":7}}', "HTTP status 500"),
        (500, "[" * 100_000, "[" * MAX_ERROR_CHARACTERS),
    ],
)
def test_a_refusal_is_a_failed_generation(status: int, body: str, words: str) -> None:
    session = speech(*flush("Hello."))
    asked(session)

    session.refuse(status, body)

    assert heard(session) == [
        {"type": "error", "message": FAILED + words},
        {"type": "audio.done", "utterance_index": 0, "sentence_index": 0, "total_bytes": 0, "error": True},
        {"type": "session.done", "utterance_index": 0, "total_sentences": 1},
    ]


def test_audio_that_breaks_off_is_to_be_discarded() -> None:
    session = speech(*flush("Hello."))
    asked(session)
    session.receive_audio(wav_header(RATE) + b"\1\2")

    session.fail("the connection broke")

    start, audio, error, done, _ = heard(session)
    assert (start["sample_rate"], audio) == (RATE, b"\1\2")
    assert error == {
        "type": "error",
        "message": FAILED + "the connection broke",
        "partial_audio": True,
        "action": "discard",
    }
    assert (done["error"], done["total_bytes"]) == (True, 2)


@pytest.mark.parametrize(("tail", "words"), [(b"\1\2\3", "ends too early"), (b"", "no audio came")])
def test_audio_that_ends_too_early_is_a_failure(tail: bytes, words: str) -> None:
    session = speech(*flush("Hello."))
    asked(session)
    if tail:
        session.receive_audio(wav_header(RATE) + tail)

    session.finish()

    assert kinds(session)[-3:] == ["error", "audio.done", "session.done"]
    assert not session.speaking


def test_what_is_no_audio_ends_the_request_and_the_rest_of_it_is_ignored() -> None:
    session = speech(*flush("One."), *flush("Two."))
    asked(session)

    session.receive_audio(b"event: speech.audio.delta")
    failed = kinds(session)
    assert asked(session)["input"] == "Two."
    answer(session, b"\1\2")

    assert failed == ["error", "audio.done", "session.done"]
    assert kinds(session) == ["audio.start", "audio", "audio.done", "session.done"]


def test_late_calls_after_the_end_do_nothing() -> None:
    session = speech(*flush("Hello."))
    asked(session)
    answer(session, b"\1\2")
    session.messages()

    session.receive_audio(b"\1\2")
    session.finish()
    session.fail("late")

    assert session.messages() == []


def test_whole_files_are_not_spoken_over_http() -> None:
    session = HttpSpeech()
    session.receive('{"type":"session.config","response_format":"wav"}')
    for message in flush("Hello."):
        session.receive(message)

    assert session.next_request() is None
    assert "set stream_audio" in heard(session)[0]["message"]


def test_close_comes_after_what_is_to_be_spoken() -> None:
    session = speech(*flush("Hello."), SessionClose().to_json())
    asked(session)
    assert session.closed is None

    answer(session, b"\1\2")

    assert session.closed is not None
    assert session.closed.code == 1000
    assert kinds(session)[-1] == "session.done"


def test_a_session_that_begins_wrongly_is_closed() -> None:
    session = HttpSpeech()

    session.receive(InputDone().to_json())

    assert "Expected session.config" in heard(session)[0]["message"]
    assert session.closed is not None


def test_too_much_that_waits_stops_the_reading() -> None:
    session = speech()
    flushes = 0
    while session.reading:
        for message in flush("Hello."):
            session.receive(message)
        flushes += 1
    assert flushes == Limits().max_pending_units

    while not session.reading:
        asked(session)
        answer(session, b"")
        flushes -= 1
    assert flushes == Limits().max_pending_units // 4


class Room:
    """The client's own session on one side, a server that spells the text on the other."""

    def __init__(self) -> None:
        self.client = ClientSession(session_config(SpeechOptions(voice="ryan")), now=0.0)
        self.session = HttpSpeech()
        self.events: list[ClientEvent] = []

    def run(self, cuts: list[int]) -> None:
        while True:
            for message in self.client.messages_to_send():
                self.session.receive(message)
            body = self.session.next_request()
            if body is not None:
                self._serve(json.loads(body)["input"], cuts)
            answers = self.session.messages()
            for frame in answers:
                self.events += self.client.receive(frame, 0.0)
            if not (answers or self.client.wants_to_send):
                return

    def _serve(self, text: str, cuts: list[int]) -> None:
        if "?" in text:
            self.session.refuse(400, '{"error":{"message":"no questions"}}')
            return
        file = wav_header(RATE) + text.encode("utf-16-le")
        for start, end in zip([0, *cuts], [*cuts, len(file)], strict=True):
            self.session.receive_audio(file[start:end])
        self.session.finish()


@given(
    texts=st.lists(st.text("ab ?", max_size=4), max_size=5),
    cuts=st.lists(st.integers(0, 60), max_size=6).map(sorted),
)
def test_the_client_understands_it_however_the_audio_is_cut(texts: list[str], cuts: list[int]) -> None:
    room = Room()
    utterances = [room.client.begin(session_config(SpeechOptions(voice="ryan"))) for _ in texts]
    for utterance, text in zip(utterances, texts, strict=True):
        room.client.speak(utterance, text, 0.0)
        room.client.finish(utterance, 0.0)

    room.run(cuts)

    for utterance, text in zip(utterances, texts, strict=True):
        events = [event for event in room.events if getattr(event, "utterance", None) == utterance]
        spoken = b"".join(event.data for event in events if isinstance(event, SpeechAudio))
        if "?" in text:
            (failed,) = (event for event in events if isinstance(event, UtteranceFailed))
            assert failed.message.endswith("sentence 0: no questions")
        elif text.strip():
            assert spoken.decode("utf-16-le") == text.strip()
            assert {event.sample_rate for event in events if isinstance(event, SpeechStarted)} == {RATE}
        else:
            assert any(isinstance(event, SpeechSkipped) for event in events)


@pytest.mark.anyio
async def test_a_real_server_takes_the_requests() -> None:
    text = "Hello there."
    heard_of: list[list[Any]] = []
    async with child_server("--engine", "tone") as url, httpx.AsyncClient(base_url=url) as http:
        for voice in ("ryan", "nobody"):
            session = speech(config(voice=voice), *flush(text))
            body = session.next_request()
            async with http.stream("POST", SPEECH_PATH, content=body, headers=JSON) as response:
                if response.is_success:
                    async for data in response.aiter_raw(chunk_size=1001):
                        session.receive_audio(data)
                    session.finish()
                else:
                    session.refuse(response.status_code, (await response.aread()).decode())
            heard_of.append(heard(session))

    spoken, refused = heard_of
    assert spoken[0]["sample_rate"] == qwen3.SAMPLE_RATE
    assert b"".join(frame for frame in spoken if isinstance(frame, bytes)) == tone_pcm(text, 0, tone_length(text))
    assert refused[0]["message"].startswith(f"{FAILED}Invalid voice 'nobody'")
