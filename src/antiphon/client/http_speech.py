"""A speech session over plain HTTP, without input or output: one ``POST /v1/audio/speech`` for each unit.

To the client it is a stock server: it takes the messages of ``/v1/audio/speech/stream`` and answers with them, because
the machine of our own server stands here between the two. Its synthesis is a request that the caller makes.
"""

import json
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, ClassVar

from antiphon.client.wav_stream import WavError, WavStream
from antiphon.protocol.dialects import DIALECT_0_30
from antiphon.protocol.events import (
    AudioChunk,
    CloseConnection,
    ConfigureSplitter,
    Effect,
    Event,
    Feed,
    Flush,
    Flushed,
    Play,
    Prepare,
    Received,
    Send,
    SendAudio,
    UnitCompleted,
    UnitFailed,
    UnitReady,
)
from antiphon.protocol.limits import Limits
from antiphon.protocol.messages import AudioStart, ServerMessage
from antiphon.protocol.session import SpeechSession
from antiphon.protocol.session_config import SessionConfig
from antiphon.text.stock import StockSplitter
from antiphon.text.units import Unit

SPEECH_PATH = "/v1/audio/speech"
"""Where vLLM-Omni, and every server that follows it, answers these requests."""

MAX_ERROR_CHARACTERS = 1000

# Of a session only.
_NO_FIELDS_OF_A_REQUEST = frozenset({"stream_audio", "word_timestamps", "split_granularity"})
# As a WAV stream, for its header says the sample rate. Servers up to 0.24 go by `stream`, later ones by `stream_format`.
_STREAMED = {"response_format": "wav", "stream": True, "stream_format": "audio"}


class HttpSpeech:
    """A session. Afterwards, whatever was called, there may be `messages` and a `next_request`.

    Requests are made one at a time: `next_request` returns one, and it is over with `finish`, `refuse` or `fail`, or
    when `speaking` is False although none of these was called, because what came was no audio.
    """

    def __init__(self) -> None:
        # Its clock stands still: what its time-outs are for cannot happen within a process.
        self._session = SpeechSession(DIALECT_0_30, limits=Limits(), check_model=lambda _: None, now=0.0)
        self._splitter = StockSplitter()
        self._prepared: dict[int, Prepare] = {}
        self._request: bytes | None = None
        self._wav: WavStream | None = None
        self._start: AudioStart | None = None
        self._messages: list[str | bytes] = []
        self.closed: CloseConnection | None = None
        """How the session ended, once it did; the `messages` before it still count."""

    # The client's side.

    @property
    def reading(self) -> bool:
        """Whether `receive` should be called; False while too much waits to be spoken."""
        return self._session.reading

    def receive(self, message: str) -> None:
        """Take a message from the client."""
        self._step(Received(message))

    def messages(self) -> list[str | bytes]:
        """Take the messages for the client: text frames and, in bytes, audio (s16le mono)."""
        messages, self._messages = self._messages, []
        return messages

    # The server's side.

    def next_request(self) -> bytes | None:
        """Return the body (JSON) of a request to make now, once; None when there is none."""
        request, self._request = self._request, None
        return request

    @property
    def speaking(self) -> bool:
        """Whether a request is to be made or under way."""
        return self._wav is not None

    def receive_audio(self, data: bytes) -> None:
        """Take a part of the answer's body, cut anywhere."""
        if self._wav is None:
            return
        try:
            samples = self._wav.feed(data)
        except WavError as error:
            self.fail(str(error))
            return
        if self._start is not None and self._wav.sample_rate is not None:
            self._send(self._start.model_copy(update={"sample_rate": self._wav.sample_rate}))
            self._start = None
        if samples:
            self._step(AudioChunk(samples))

    def finish(self) -> None:
        """Take the end of the answer's body."""
        if self._wav is None:
            return
        try:
            self._wav.finish()
        except WavError as error:
            self.fail(str(error))
            return
        self._wav = None
        self._step(UnitCompleted())

    def refuse(self, status: int, body: str) -> None:
        """Take an answer that is no success.

        Args:
            status: of HTTP.
            body: JSON as of vLLM and OpenAI, or anything.
        """
        self.fail(_words(body) or f"HTTP status {status}")

    def fail(self, message: str) -> None:
        """Take that the answer does not come, or ends before its end."""
        if self._wav is not None:
            # Unless there was audio, its sample rate is not known, and nothing is said to start.
            self._wav = self._request = self._start = None
            self._step(UnitFailed(message[:MAX_ERROR_CHARACTERS]))

    # The machine between.

    def _step(self, event: Event) -> None:
        for effect in self._session.receive(event, 0.0):
            handler = self._HANDLERS.get(type(effect))
            if handler is not None:
                handler(self, effect)

    def _configure_splitter(self, effect: ConfigureSplitter) -> None:
        self._splitter = StockSplitter(effect.granularity)

    def _feed(self, effect: Feed) -> None:
        self._give(self._splitter.feed(effect.text))

    def _flush(self, _: Flush) -> None:
        self._give(self._splitter.flush())
        self._step(Flushed())

    def _give(self, units: list[Unit]) -> None:
        for unit in units:
            self._step(UnitReady(unit.text, unit.start, unit.end))

    def _prepare(self, effect: Prepare) -> None:
        self._prepared[effect.unit_id] = effect

    def _play(self, effect: Play) -> None:
        unit = self._prepared.pop(effect.unit_id)
        self._wav = WavStream()
        if unit.config.stream_audio:
            self._request = _request(unit.text, unit.config)
        else:
            self.fail("over HTTP, audio is streamed only: set stream_audio")

    def _send_or_hold(self, effect: Send) -> None:
        if isinstance(effect.message, AudioStart):
            self._start = effect.message
        else:
            self._send(effect.message)

    def _send(self, message: ServerMessage) -> None:
        self._messages.append(message.to_json())

    def _send_audio(self, effect: SendAudio) -> None:
        self._messages.append(effect.data)

    def _close(self, effect: CloseConnection) -> None:
        self.closed = effect

    # A handler takes its own effect, which a mapping by type cannot express.
    _HANDLERS: ClassVar[Mapping[type[Effect], Callable[["HttpSpeech", Any], None]]] = MappingProxyType(
        {
            ConfigureSplitter: _configure_splitter,
            Feed: _feed,
            Flush: _flush,
            Prepare: _prepare,
            Play: _play,
            Send: _send_or_hold,
            SendAudio: _send_audio,
            CloseConnection: _close,
        }
    )


def _request(text: str, config: SessionConfig) -> bytes:
    fields = config.model_dump(exclude_unset=True, exclude_none=True, exclude=set(_NO_FIELDS_OF_A_REQUEST))
    body = {"input": text, **fields, **_STREAMED}
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


def _words(body: str) -> str:
    """The reason in an error body: vLLM's ``{"error":{"message":…}}``, or its ``{"error":…}``; else all of it."""
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        return body.strip()
    error = answer.get("error") if isinstance(answer, dict) else None
    reason = error.get("message") if isinstance(error, dict) else error
    return reason.strip() if isinstance(reason, str) else ""
