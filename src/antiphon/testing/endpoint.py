"""A stock speech server in memory, for tests of clients.

It answers as vLLM-Omni does: in one loop that reads nothing while it speaks, with the messages, the order and the
strictness of the real one. It uses no socket, no task and no clock unless told to, so tests are exact and quick.

    endpoint = FakeEndpoint()
    async with Voice(endpoint.connect()) as voice:
        events = [event async for event in voice.say("Hello there.")]
    assert endpoint.spoken == ["Hello there."]
"""

import asyncio
import json
import zlib
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from pydantic import ValidationError

from antiphon.client.transport import ConnectionClosedError
from antiphon.protocol.messages import (
    AudioDone,
    AudioStart,
    ErrorMessage,
    InputDone,
    InputText,
    SessionClose,
    SessionConfig,
    SessionDone,
)

type Frame = str | bytes


def fake_speech(text: str, *, samples_per_character: int = 240) -> bytes:
    """What a `FakeEndpoint` says for `text`: one constant sample, never silent, that depends on the text."""
    level = 1000 + zlib.crc32(text.encode("utf-8", "surrogatepass")) % 20_000
    return np.full(len(text) * samples_per_character, level, dtype="<i2").tobytes()


class FakeEndpoint:
    """Serves any number of connections, each of them a stock session.

    Args:
        dialect: ``0.30``, or ``0.26`` whose servers count an empty ``input.text`` as text that waits.
        sample_rate: samples per second, as announced.
        samples_per_character: length of the audio.
        chunk_samples: length of a chunk.
        chunk_delay_s: what each chunk takes to make.
        fail: called with a unit's text; what it returns, if not None, is the failure to report.
        drop_after_frames: the connection breaks, without a close frame, after so many frames to the client.
        drop_after_messages: likewise, after so many messages from the client.
        idle_timeout_s: ends the session, as the real server's 30 s do.

    Attributes:
        received: all messages of all connections, decoded.
        spoken: the texts of the units whose speech has begun, in order.
        voices: the voice of each of `spoken`.
        frames_sent: frames that the clients have taken.
        speaking: set when the first of them begins.
        closed: connections that their client has closed.
    """

    def __init__(  # noqa: PLR0913 - a fake has a knob for every mishap
        self,
        *,
        dialect: str = "0.30",
        sample_rate: int = 24_000,
        samples_per_character: int = 240,
        chunk_samples: int = 2400,
        chunk_delay_s: float = 0.0,
        fail: Callable[[str], str | None] = lambda _text: None,
        drop_after_frames: int | None = None,
        drop_after_messages: int | None = None,
        idle_timeout_s: float | None = None,
    ) -> None:
        self.dialect = dialect
        self.sample_rate = sample_rate
        self.samples_per_character = samples_per_character
        self.chunk_bytes = chunk_samples * 2
        self.chunk_delay_s = chunk_delay_s
        self.fail = fail
        self.drop_after_frames = drop_after_frames
        self.drop_after_messages = drop_after_messages
        self.idle_timeout_s = idle_timeout_s
        self.received: list[dict[str, Any]] = []
        self.spoken: list[str] = []
        self.voices: list[str | None] = []
        self.frames_sent = 0
        self.speaking = asyncio.Event()
        self.closed = 0
        self._may_speak = asyncio.Event()
        self._may_speak.set()

    def connect(self) -> "FakeTransport":
        """Open a connection."""
        return FakeTransport(self)

    def pause(self) -> None:
        """Make no further chunk until `resume`."""
        self._may_speak.clear()

    def resume(self) -> None:
        """Go on."""
        self._may_speak.set()

    async def make_chunk(self) -> None:
        """Take the time that a chunk takes."""
        await self._may_speak.wait()
        if self.chunk_delay_s:
            await asyncio.sleep(self.chunk_delay_s)


class FakeTransport:
    """A connection to a `FakeEndpoint`: a `Transport`. The server's loop runs inside `receive`."""

    def __init__(self, endpoint: FakeEndpoint) -> None:
        self._endpoint = endpoint
        self._inbox: deque[str] = deque()
        self._frames: Iterator[Frame] = iter(())
        self._session = _StockSession(endpoint)
        self._wake = asyncio.Event()
        self._closed: ConnectionClosedError | None = None
        self._taken = 0
        self._given = 0

    async def send(self, data: str) -> None:
        """Give the server a message."""
        if self._closed is not None:
            raise self._closed
        data.encode()  # as a socket does: what is not UTF-8 cannot travel
        self._endpoint.received.append(json.loads(data))
        self._inbox.append(data)
        self._given += 1
        if self._given == self._endpoint.drop_after_messages:
            self._end(1006)
        self._wake.set()

    async def receive(self) -> Frame:
        """Take the server's next frame."""
        if self._taken == self._endpoint.drop_after_frames:
            self._end(1006)
        while self._closed is None:
            frame = next(self._frames, None)
            if frame is None:
                await self._read()
                continue
            if isinstance(frame, bytes):
                await self._make_chunk()
            self._taken += 1
            self._endpoint.frames_sent += 1
            return frame
        raise self._closed

    async def close(self, code: int = 1000, reason: str = "") -> None:
        """Leave."""
        if self._closed is None:
            self._endpoint.closed += 1
            self._end(code, reason)

    def disconnect(self, code: int = 1006, reason: str = "") -> None:
        """Let the server hang up."""
        self._end(code, reason)

    def refuse(self, message: str) -> None:
        """Let the server refuse the session: an error, then the end without a close frame."""
        self._inbox.clear()
        self._frames = self._session.refuse(message)
        self._wake.set()

    async def _make_chunk(self) -> None:
        chunk = asyncio.ensure_future(self._endpoint.make_chunk())
        closing = asyncio.ensure_future(self._wait_for_close())
        await asyncio.wait({chunk, closing}, return_when=asyncio.FIRST_COMPLETED)
        for task in (chunk, closing):
            task.cancel()
        await asyncio.wait({chunk, closing})
        if self._closed is not None:
            raise self._closed

    async def _wait_for_close(self) -> None:
        while self._closed is None:
            self._wake.clear()
            await self._wake.wait()

    async def _read(self) -> None:
        if self._session.over:
            self._end(self._session.close_code)
        elif self._inbox:
            self._frames = self._session.handle(self._inbox.popleft())
        else:
            self._wake.clear()
            try:
                async with asyncio.timeout(self._endpoint.idle_timeout_s):
                    await self._wake.wait()
            except TimeoutError:
                self._frames = self._session.time_out()

    def _end(self, code: int, reason: str = "") -> None:
        self._closed = self._closed or ConnectionClosedError(code, reason)
        self._wake.set()


class _StockSession:
    """What a stock server answers to one message after the other."""

    def __init__(self, endpoint: FakeEndpoint) -> None:
        self._endpoint = endpoint
        self._config: SessionConfig | None = None
        self._text = ""
        self._buffered = False
        self._flushes = 0
        self.over = False
        self.close_code = 1006

    def handle(self, data: str) -> Iterator[Frame]:
        fields = json.loads(data)
        kind = fields.pop("type")
        if kind == SessionConfig.type:
            return self._configure(fields)
        if self._config is None:
            return self.refuse(f"Expected session.config, got: {kind}")
        if kind == InputText.type:
            return self._append(fields["text"])
        if kind == InputDone.type:
            return self._flush(self._config)
        if kind == SessionClose.type:
            return self._leave()
        return _error(f"Unknown message type: {kind}")

    def refuse(self, message: str) -> Iterator[Frame]:
        self.over = True
        return _error(message)

    def time_out(self) -> Iterator[Frame]:
        return self.refuse("Idle timeout: no message received")

    def _configure(self, fields: dict[str, Any]) -> Iterator[Frame]:
        if self._buffered:
            return _error("session.config cannot be applied while input is buffered; send input.done first")
        parse = SessionConfig.parse_0_26 if self._endpoint.dialect == "0.26" else SessionConfig.parse
        try:
            self._config = parse(fields)
        except ValidationError as error:
            refusal = f"Invalid session config: {error}"
            return self.refuse(refusal) if self._config is None else _error(refusal)
        return iter(())

    def _append(self, text: str) -> Iterator[Frame]:
        self._text += text
        self._buffered = self._buffered or bool(text) or self._endpoint.dialect == "0.26"
        return iter(())

    def _flush(self, config: SessionConfig) -> Iterator[Frame]:
        text, index = self._text.strip(), self._flushes
        self._text, self._buffered, self._flushes = "", False, self._flushes + 1
        if text:
            yield from self._speak(text, index, config)
        yield SessionDone(utterance_index=index, total_sentences=int(bool(text))).to_json()

    def _speak(self, text: str, index: int, config: SessionConfig) -> Iterator[Frame]:
        endpoint = self._endpoint
        endpoint.spoken.append(text)
        endpoint.speaking.set()
        endpoint.voices.append(config.voice)
        rate = endpoint.sample_rate if config.stream_audio else None
        yield AudioStart(
            utterance_index=index, sentence_index=0, sentence_text=text, format="pcm", sample_rate=rate
        ).to_json()
        failure = endpoint.fail(text)
        audio = b"" if failure else fake_speech(text, samples_per_character=endpoint.samples_per_character)
        for start in range(0, len(audio), endpoint.chunk_bytes):
            yield audio[start : start + endpoint.chunk_bytes]
        if failure:
            yield from _error(f"Generation failed for utterance {index}, sentence 0: {failure}")
        else:
            yield b""  # the real one ends a unit with an empty chunk
        done = AudioDone(utterance_index=index, sentence_index=0, total_bytes=len(audio), error=bool(failure))
        yield done.to_json()

    def _leave(self) -> Iterator[Frame]:
        self.over, self.close_code = True, 1000
        return iter(())


def _error(message: str) -> Iterator[Frame]:
    return iter((ErrorMessage(message=message).to_json(),))
