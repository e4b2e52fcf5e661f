"""Random walks of a client session against a model of a stock server."""

import json

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from antiphon.protocol.client_events import SessionFailed, SpeechAudio
from antiphon.protocol.client_session import KEEPALIVE_S, UNITS_AT_SERVER, ClientSession
from antiphon.protocol.messages import AudioStart, SessionConfig, SessionDone

CONFIGS = [
    SessionConfig.parse({"voice": voice, "response_format": "pcm", "stream_audio": True}) for voice in ("anna", "bert")
]


class StockServer:
    """Speaks one flush after the other; its audio spells the text, one frame for a character.

    Like those up to 0.28 it refuses a config while text waits, be it an empty one.
    """

    def __init__(self) -> None:
        self.voice = ""
        self.frames: list[str | bytes] = []
        self._flushes = 0
        self._text: str | None = None

    @property
    def units(self) -> int:
        """How many are still to be spoken."""
        return sum(isinstance(frame, str) and "audio.start" in frame for frame in self.frames)

    def take(self, messages: list[str]) -> None:
        for message in map(json.loads, messages):
            match message:
                case {"type": "session.config", "voice": voice}:
                    assert self._text is None
                    self.voice = voice
                case {"type": "input.text", "text": text}:
                    self._text = (self._text or "") + text
                case {"type": "input.done"}:
                    self._flush()

    def _flush(self) -> None:
        if self._text:
            self.frames.append(AudioStart(utterance_index=self._flushes, sample_rate=8000).to_json())
            self.frames += [ord(ch).to_bytes(2, "little") for ch in self.voice[0] + self._text]
        self.frames.append(SessionDone(utterance_index=self._flushes).to_json())
        self._text = None
        self._flushes += 1


class Conversation(RuleBasedStateMachine):
    """Utterances are written, ended and abandoned in any order while the server speaks and time passes."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.session = ClientSession(CONFIGS[0], now=0.0)
        self.server = StockServer()
        self.written: dict[int, str] = {}
        self.voices: dict[int, str] = {}
        self.heard: dict[int, str] = {}
        self.open: set[int] = set()
        self.abandoned: set[int] = set()
        self.line: list[int] = []
        self.order: list[int] = []

    @rule(config=st.sampled_from(CONFIGS))
    def begin(self, config: SessionConfig) -> None:
        utterance = self.session.begin(config)
        self.written[utterance] = self.heard[utterance] = ""
        self.voices[utterance] = str(config.voice)[0]
        self.open.add(utterance)

    @precondition(lambda self: self.open)
    @rule(data=st.data())
    def speak(self, data: st.DataObject) -> None:
        utterance = data.draw(st.sampled_from(sorted(self.open)))
        text = f"<{utterance}.{len(self.written[utterance])}>"
        self.session.speak(utterance, text, self.now)
        if not self.written[utterance]:
            self.line.append(utterance)
        self.written[utterance] += self.voices[utterance] + text

    @precondition(lambda self: self.open)
    @rule(data=st.data())
    def finish(self, data: st.DataObject) -> None:
        utterance = data.draw(st.sampled_from(sorted(self.open)))
        self.open.discard(utterance)
        self.session.finish(utterance, self.now)

    @precondition(lambda self: self.written)
    @rule(data=st.data())
    def abandon(self, data: st.DataObject) -> None:
        utterance = data.draw(st.sampled_from(sorted(self.written)))
        self.session.abandon(utterance, self.now)
        self.open.discard(utterance)
        self.abandoned.add(utterance)

    @rule(held=st.booleans())
    def hold(self, held: bool) -> None:
        self.session.hold(self.now, held=held)

    @rule()
    def wait(self) -> None:
        self.now += KEEPALIVE_S
        self.session.tick(self.now, listening=False)

    @rule(frames=st.integers(1, 8))
    def hear(self, frames: int) -> None:
        for frame in self.server.frames[:frames]:
            self.server.frames.pop(0)
            self._receive(frame)
            self.server.take(self.session.messages_to_send())

    def _receive(self, frame: str | bytes) -> None:
        for event in self.session.receive(frame, self.now):
            assert not isinstance(event, SessionFailed)
            assert event.utterance not in self.abandoned
            if isinstance(event, SpeechAudio):
                self.heard[event.utterance] += chr(int.from_bytes(event.data, "little"))
                self.order.append(event.utterance)

    @invariant()
    def no_more_than_one_unit_waits_at_the_server(self) -> None:
        self.server.take(self.session.messages_to_send())
        assert self.server.units <= UNITS_AT_SERVER

    def teardown(self) -> None:
        self.session.hold(self.now, held=False)
        for utterance in self.open:
            self.session.finish(utterance, self.now)
        self.server.take(self.session.messages_to_send())
        while self.server.frames:
            self.hear(1)
        assert self.session.waiting_characters == 0
        assert self.order == sorted(self.order, key=self.line.index)
        for utterance in self.written.keys() - self.abandoned:
            assert self.heard[utterance] == self.written[utterance]


TestConversation = Conversation.TestCase
TestConversation.settings = settings(max_examples=50, stateful_step_count=40, deadline=None)
