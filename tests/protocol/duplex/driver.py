"""A driver for the duplex session without sockets: its engine speaks when it is told to."""

import json
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from antiphon.protocol import Limits
from antiphon.protocol.duplex.events import (
    Abort,
    AudioChunk,
    CloseConnection,
    CloseContext,
    Effect,
    Event,
    Feed,
    Flush,
    Flushed,
    OpenContext,
    OutputSent,
    Play,
    Poll,
    Prepare,
    Received,
    SegmenterDeadline,
    Send,
    SendAudio,
    TimePassed,
    UnitCompleted,
    UnitFailed,
    UnitReady,
    UnitRefused,
)
from antiphon.protocol.duplex.messages import DIALECT, SessionReady
from antiphon.protocol.duplex.session import DuplexSession

type Output = dict[str, Any] | bytes | CloseConnection

CHUNK_BYTES = 3840  # 80 ms, as the tone engine's
SAMPLES_PER_CHAR = 1440  # 60 ms, likewise
DELAY_S = 0.5  # after which text that has no full stop is cut, when the granularity is auto
READY = SessionReady(session_id="s", engine="tone", deterministic=True)


def message(kind: str, **fields: Any) -> str:
    return json.dumps({"type": kind, **fields})


def text(context_id: str, value: str, **options: Any) -> str:
    return message("input.text", context_id=context_id, text=value, **options)


def flush(context_id: str, flush_id: str = "f") -> str:
    return message("input.flush", context_id=context_id, flush_id=flush_id)


def done(context_id: str) -> str:
    return message("input.done", context_id=context_id)


def cancel(context_id: str) -> str:
    return message("input.cancel", context_id=context_id)


CLOSE = message("session.close")


def know_only_tone(name: str) -> str | None:
    return None if name == "tone" else f"no model {name}"


class Segmenter:
    """Units end at full stops, unless the granularity is none; with auto, also after `DELAY_S`."""

    def __init__(self, context_id: str, granularity: str) -> None:
        self._context_id = context_id
        self._granularity = granularity
        self._buffer = ""
        self._start = 0

    def feed(self, value: str, now: float) -> list[Event]:
        self._buffer += value
        units: list[Event] = []
        while self._granularity != "none" and "." in self._buffer:
            units += self._cut(self._buffer.index(".") + 1)
        waits = self._granularity == "auto" and self._buffer
        return [*units, SegmenterDeadline(self._context_id, now + DELAY_S if waits else None)]

    def flush(self) -> list[Event]:
        return self._cut(len(self._buffer))

    def _cut(self, length: int) -> list[Event]:
        piece, self._buffer = self._buffer[:length], self._buffer[length:]
        start, self._start = self._start, self._start + length
        if not piece.strip():
            return []
        speakable = any(char.isalnum() for char in piece)
        return [UnitReady(self._context_id, piece.strip(), start, self._start, speakable=speakable)]


@dataclass
class Driver:
    """Carries out effects as a server would and remembers what went out.

    Attributes:
        crowded: whether every unit is refused.
        takes: whether the client takes at once what is sent.
    """

    limits: Limits = field(default_factory=Limits)
    ready: SessionReady = READY
    now: float = 1000.0
    crowded: bool = False
    takes: bool = True

    def __post_init__(self) -> None:
        self.session = DuplexSession(limits=self.limits, ready=self.ready, check_model=know_only_tone, now=self.now)
        self.segmenters: dict[str, Segmenter] = {}
        self.outputs: deque[Output] = deque()
        self.effects: list[Effect] = []
        self.prepared: dict[int, Prepare] = {}
        self.playing: Prepare | None = None
        self.left = self.spoken = 0  # bytes of the playing unit that have not been delivered, and that have
        self.aborted = False

    # What the client does.

    def client(self, *frames: str | bytes) -> "Driver":
        for frame in frames:
            self.deliver(Received(frame))
        return self

    def wait(self, seconds: float) -> "Driver":
        self.now += seconds
        self.deliver(TimePassed())
        return self

    def take(self) -> list[Output]:
        """What went out since the last call."""
        outputs, self.outputs = list(self.outputs), deque()
        return outputs

    def take_types(self) -> list[str]:
        """The same in short: types with their contexts, ``audio`` for a frame."""
        return [brief(output) for output in self.take()]

    # What the engine does.

    def speak(self, chunks: int = 1) -> "Driver":
        """Deliver chunks of the playing unit, as many as it has left at most."""
        for _ in range(chunks):
            size = min(CHUNK_BYTES, self.left)
            self.left -= size
            self.spoken += size
            assert self.playing is not None, "nothing plays"
            self.deliver(AudioChunk(self.playing.unit_id, bytes(size)))
        return self

    def complete(self) -> "Driver":
        """Deliver the rest of the playing unit and its end."""
        assert self.playing is not None, "nothing plays"
        while self.left:
            self.speak()
        unit_id, self.playing = self.playing.unit_id, None
        self.deliver(UnitCompleted(unit_id, 0.01, 0.001))
        return self

    def finish(self) -> "Driver":
        """Complete every unit there is."""
        while self.playing is not None:
            self.complete()
        return self

    def fail(self, reason: str = "no voice", *, fatal: bool = False, invalid: bool = False) -> "Driver":
        assert self.playing is not None, "nothing plays"
        unit_id, self.playing = self.playing.unit_id, None
        self.deliver(UnitFailed(unit_id, reason, fatal=fatal, invalid=invalid))
        return self

    # The machine.

    def deliver(self, event: Event) -> "Driver":
        for effect in self.session.receive(event, self.now):
            self.effects.append(effect)
            self._carry_out(effect)
        if self.takes:
            self.session.receive(OutputSent(), self.now)
        if self.crowded and self.playing is not None:
            unit_id, self.playing = self.playing.unit_id, None
            self.deliver(UnitRefused(unit_id, "every place is taken"))
        return self

    def _answer(self, events: list[Event]) -> None:
        for event in events:
            self.deliver(event)

    def _carry_out(self, effect: Effect) -> None:
        match effect:
            case OpenContext(context_id, config):
                self.segmenters[context_id] = Segmenter(context_id, config.split_granularity)
            case Feed(context_id, value):
                self._answer(self.segmenters[context_id].feed(value, self.now))
            case Poll(context_id):
                self._answer(self.segmenters[context_id].flush())
            case Flush(context_id):
                self._answer([*self.segmenters[context_id].flush(), Flushed(context_id)])
            case CloseContext(context_id):
                self._close(context_id)
            case Prepare():
                self.prepared[effect.unit_id] = effect
            case Play(unit_id):
                assert self.playing is None, "two units at once"
                self.playing = self.prepared.pop(unit_id)
                self.spoken, self.left = 0, _length(self.playing)
            case Abort():
                self.aborted, self.playing = True, None
            case Send() | SendAudio() | CloseConnection():
                self.outputs.append(_on_the_wire(effect))

    def _close(self, context_id: str) -> None:
        del self.segmenters[context_id]
        self.prepared = {key: unit for key, unit in self.prepared.items() if unit.context_id != context_id}
        if self.playing is not None and self.playing.context_id == context_id:
            self.playing = None


def _length(unit: Prepare) -> int:
    return int(len(unit.text) * SAMPLES_PER_CHAR / (unit.config.speed or 1.0)) * 2


def _on_the_wire(effect: Send | SendAudio | CloseConnection) -> Output:
    match effect:
        case Send(sent):
            return json.loads(sent.to_json().encode())  # type: ignore[no-any-return]  # it is an object
        case SendAudio(data=data):
            return data
        case CloseConnection():
            return effect


def brief(output: Output) -> str:
    """An output in a word or two: its type or error code, and its context."""
    match output:
        case bytes():
            return "audio"
        case CloseConnection(code):
            return f"close {code}"
    name = output["code"] if output["type"] == "error" else output["type"]
    return f"{name} {output['context_id']}" if "context_id" in output else str(name)


def configured(limits: Limits | None = None, ready: SessionReady = READY, **fields: Any) -> Driver:
    """A driver whose client has sent a valid config: units end at full stops, or where `fields` say."""
    driver = Driver(limits or Limits(), ready)
    driver.client(message("session.config", **{"dialect": DIALECT, "split_granularity": "sentence"} | fields))
    assert [brief(output) for output in driver.take()] == ["session.ready"]
    return driver
