"""How a server answers that finishes each message before it reads the next: what any read-ahead must equal.

Written as one plain loop, without the machine's tables and queue, so that the two cannot share a mistake.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError
from tests.protocol.driver import FullStopSplitter, Output, know_only_tone

from antiphon.protocol import Dialect, SessionConfig
from antiphon.protocol.events import CloseConnection


@dataclass(frozen=True)
class Spoken:
    """What synthesis makes of a text."""

    chunks: tuple[bytes, ...]
    failure: str | None = None
    fatal: bool = False


class _EndOfSessionError(Exception):
    pass


def serve(frames: list[str | bytes], dialect: Dialect, speak: Callable[[str], Spoken]) -> list[Output]:
    """The whole output for the given input."""
    server = _SerialServer(dialect, speak)
    try:
        for frame in frames:
            server.handle(frame)
    except _EndOfSessionError:
        pass
    return server.outputs


class _SerialServer:
    def __init__(self, dialect: Dialect, speak: Callable[[str], Spoken]) -> None:
        self.outputs: list[Output] = []
        self._old = dialect.name == "0.26"
        self._parse = dialect.parse_config
        self._speak = speak
        self._config: SessionConfig | None = None
        self._splitter = FullStopSplitter("none")
        self._utterance = self._sentence = 0
        self._open = False

    def handle(self, frame: str | bytes) -> None:
        if isinstance(frame, bytes):
            self._end("Internal error: 'text'", 1003, "binary frames are not accepted")
            return
        try:
            fields = json.loads(frame)
        except json.JSONDecodeError:
            self._error("Invalid JSON message")
            return
        if not isinstance(fields, dict):
            self._error("WebSocket messages must be JSON objects")
        elif fields.get("type") == "session.config":
            self._configure(fields)
        elif self._config is None:
            self._error(f"Expected session.config, got: {fields.get('type')}")
        else:
            self._input(fields)

    def _configure(self, fields: dict[str, Any]) -> None:
        if self._open and self._old:
            self._error("session.config cannot be applied while input is buffered; send input.done first")
            return
        if self._open:
            self._error("session.config cannot be applied while an utterance is in progress; send input.done first")
            return
        try:
            config = self._parse({name: value for name, value in fields.items() if name != "type"})
        except ValidationError as error:
            self._error(f"Invalid session config: {error}")
            return
        if config.model and know_only_tone(config.model):
            self._error(know_only_tone(config.model) or "")
            return
        self._config, self._splitter = config, FullStopSplitter(config.split_granularity)

    def _input(self, fields: dict[str, Any]) -> None:
        kind = fields.get("type")
        if kind == "input.text":
            self._text(fields.get("text", ""))
        elif kind == "input.done":
            self._say([unit.text for unit in self._splitter.flush()])
            done = {"type": "session.done", "utterance_index": self._utterance, "total_sentences": self._sentence}
            self.outputs.append(done)
            self._utterance, self._sentence, self._open = self._utterance + 1, 0, False
        elif kind == "session.close":
            self._close(1000, "session.close")
        else:
            self._error(f"Unknown message type: {kind}")

    def _text(self, value: object) -> None:
        if not isinstance(value, str):
            self._error("input.text requires a string value")
        elif any("\ud800" <= character <= "\udfff" for character in value):
            self._error("input.text holds half of a surrogate pair, which is not a character")
        else:
            self._open = self._open or self._old or value != ""
            self._say([unit.text for unit in self._splitter.feed(value)])

    def _say(self, units: list[str]) -> None:
        for unit in units:
            self.outputs += self._unit(unit)
            self._sentence += 1

    def _unit(self, unit: str) -> Iterator[Output]:
        config = self._config
        assert config is not None
        index = {"utterance_index": self._utterance, "sentence_index": self._sentence}
        if config.word_timestamps:
            text = (
                "word_timestamps=true but the server was launched without --forced-aligner; either restart "
                "the server with that flag or set word_timestamps=false in session.config."
            )
            yield {"type": "error", "message": text}
            return
        start = {"type": "audio.start", **index, "sentence_text": unit, "format": config.response_format}
        yield start | ({"sample_rate": 24000} if config.stream_audio else {})
        spoken = self._speak(unit)
        yield from spoken.chunks
        total = sum(map(len, spoken.chunks))
        if spoken.failure is not None:
            text = f"Generation failed for utterance {self._utterance}, sentence {self._sentence}: {spoken.failure}"
            partial = {"partial_audio": True, "action": "discard"} if total and not self._old else {}
            yield {"type": "error", "message": text, **partial}
        yield {"type": "audio.done", **index, "total_bytes": total, "error": spoken.failure is not None}
        if spoken.fatal:
            yield CloseConnection(1011, "synthesis is not possible")
            raise _EndOfSessionError

    def _error(self, text: str) -> None:
        self.outputs.append({"type": "error", "message": text})
        if self._config is None:
            self._close(1008, "a valid session.config must come first")

    def _end(self, text: str, code: int, reason: str) -> None:
        self.outputs.append({"type": "error", "message": text})
        self._close(code, reason)

    def _close(self, code: int, reason: str) -> None:
        self.outputs.append(CloseConnection(code, reason))
        raise _EndOfSessionError
