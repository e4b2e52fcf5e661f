"""A driver for the session machine without sockets: it splits at full stops and is told when audio comes."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from antiphon.protocol import DIALECT_0_30, Dialect, Limits, SpeechSession
from antiphon.protocol.events import (
    Abort,
    AudioChunk,
    CloseConnection,
    ConfigureSplitter,
    Effect,
    Event,
    Feed,
    Flush,
    Flushed,
    OutputSent,
    Play,
    Prepare,
    Received,
    Send,
    SendAudio,
    TimePassed,
    UnitCompleted,
    UnitFailed,
    UnitReady,
)

type Output = dict[str, Any] | bytes | CloseConnection

CONFIG = {"type": "session.config", "response_format": "pcm", "stream_audio": True, "split_granularity": "sentence"}


def message(kind: str, **fields: Any) -> str:
    return json.dumps({"type": kind, **fields})


def text(value: str) -> str:
    return message("input.text", text=value)


DONE = message("input.done")
CLOSE = message("session.close")


def know_only_tone(name: str) -> str | None:
    return None if name == "tone" else f"no model {name}"


class FullStopSplitter:
    """Units end at full stops, or at a flush when the granularity is none."""

    def __init__(self, granularity: str) -> None:
        self._splits = granularity != "none"
        self._buffer = ""
        self._start = 0

    def feed(self, value: str) -> list[UnitReady]:
        self._buffer += value
        units = []
        while self._splits and "." in self._buffer:
            units += self._cut(self._buffer.index(".") + 1)
        return units

    def flush(self) -> list[UnitReady]:
        units = self._cut(len(self._buffer))
        self._start = 0
        return units

    def _cut(self, length: int) -> list[UnitReady]:
        piece, self._buffer = self._buffer[:length], self._buffer[length:]
        start, self._start = self._start, self._start + length
        return [UnitReady(piece.strip(), start, self._start)] if piece.strip() else []


@dataclass
class Driver:
    """Carries out effects as a server would and remembers what went out."""

    dialect: Dialect = DIALECT_0_30
    limits: Limits = field(default_factory=Limits)
    now: float = 1000.0
    takes: bool = True  # whether the client takes at once what is sent

    def __post_init__(self) -> None:
        self.session = SpeechSession(self.dialect, limits=self.limits, check_model=know_only_tone, now=self.now)
        self.splitter = FullStopSplitter("none")
        self.outputs: list[Output] = []
        self.prepared: list[Prepare] = []
        self.playing: int | None = None
        self.aborted = False

    def client(self, *frames: str | bytes) -> "Driver":
        for frame in frames:
            self.deliver(Received(frame))
        return self

    def audio(self, *chunks: bytes) -> "Driver":
        for chunk in chunks:
            self.deliver(AudioChunk(chunk))
        return self

    def complete(self) -> "Driver":
        self.playing = None
        self.deliver(UnitCompleted())
        return self

    def fail(self, reason: str = "no voice", *, fatal: bool = False) -> "Driver":
        self.playing = None
        self.deliver(UnitFailed(reason, fatal=fatal))
        return self

    def wait(self, seconds: float) -> "Driver":
        self.now += seconds
        self.deliver(TimePassed())
        return self

    def take(self) -> list[Output]:
        """What went out since the last call."""
        outputs, self.outputs = self.outputs, []
        return outputs

    def take_errors(self) -> list[str]:
        """The texts of the errors among `take`."""
        return [out["message"] for out in self.take() if isinstance(out, dict) and out["type"] == "error"]

    def deliver(self, event: Event) -> None:
        for effect in self.session.receive(event, self.now):
            self._carry_out(effect)
        if self.takes:
            self.session.receive(OutputSent(), self.now)

    def _deliver_all(self, events: Sequence[Event]) -> None:
        for event in events:
            self.deliver(event)

    def _carry_out(self, effect: Effect) -> None:
        match effect:
            case ConfigureSplitter(granularity):
                self.splitter = FullStopSplitter(granularity)
            case Feed(value):
                self._deliver_all(self.splitter.feed(value))
            case Flush():
                self._deliver_all([*self.splitter.flush(), Flushed()])
            case Prepare():
                self.prepared.append(effect)
            case Play(unit_id):
                assert self.playing is None, "two units at once"
                self.playing = unit_id
            case Abort():
                self.aborted, self.playing = True, None
            case Send() | SendAudio() | CloseConnection():
                self.outputs.append(_on_the_wire(effect))


def _on_the_wire(effect: Send | SendAudio | CloseConnection) -> Output:
    match effect:
        case Send(sent):
            return json.loads(sent.to_json().encode())  # type: ignore[no-any-return]  # it is an object
        case SendAudio(data):
            return data
        case CloseConnection():
            return effect


def configured(dialect: Dialect = DIALECT_0_30, limits: Limits | None = None, **fields: Any) -> Driver:
    """A driver whose client has sent a valid config."""
    driver = Driver(dialect, limits or Limits())
    return driver.client(json.dumps(CONFIG | fields))
