"""Every transcript, against the session machine; the server's tests replay the same files over WebSocket."""

from dataclasses import replace

import pytest
from tests.protocol.duplex.driver import Driver, Output, brief
from tests.protocol.duplex.rules import Watcher
from tests.protocol.duplex.transcripts import (
    Happen,
    Hear,
    HearAudio,
    HearClose,
    Say,
    Transcript,
    all_transcripts,
    parse,
)

from antiphon.protocol import Limits
from antiphon.protocol.duplex.errors import ErrorCode
from antiphon.protocol.duplex.events import CloseConnection, Disconnected, Shutdown

ALL = list(all_transcripts())


class Replay:
    """Plays a transcript: the engine speaks only when the server is expected to say something."""

    def __init__(self, transcript: Transcript) -> None:
        settings = transcript.settings
        limits = replace(
            Limits(),
            idle_timeout_s=float(settings.get("idle_timeout_s", 30)),
            config_timeout_s=float(settings.get("config_timeout_s", 10)),
        )
        self.driver = Driver(limits, crowded="crowded" in settings)
        self.watcher = Watcher()

    def run(self, transcript: Transcript) -> None:
        for step in transcript.steps:
            match step:
                case Say(data):
                    self.driver.client(data)
                case Hear():
                    self.hear(step)
                case HearAudio(frames):
                    self.hear_audio(frames)
                case HearClose(code):
                    closing = self.next_message()
                    assert isinstance(closing, CloseConnection), f"{brief(closing)} instead of the close"
                    assert closing.code == code
                    assert self.driver.session.closed
                case Happen():
                    self.happen(step)
        assert self.driver.take_types() == []

    def hear(self, step: Hear) -> None:
        outputs = self.driver.outputs
        if step.optional and not (outputs and isinstance(outputs[0], dict) and step.matches(outputs[0])):
            return
        output = self.next_message()
        assert isinstance(output, dict), f"{brief(output)} instead of {step.fields}"
        assert step.matches(output), f"{output} instead of {step.fields}"

    def hear_audio(self, frames: int) -> None:
        for _ in range(frames):
            if not self.driver.outputs:
                self.driver.speak()
            assert isinstance(self.next_output(), bytes)

    def next_message(self) -> Output:
        """The next frame that is no audio; if there is none yet, the playing unit goes on."""
        while True:
            if not self.driver.outputs:
                self.go_on()
            output = self.next_output()
            if not isinstance(output, bytes):
                return output

    def next_output(self) -> Output:
        output = self.driver.outputs.popleft()
        if not isinstance(output, CloseConnection):
            self.watcher.see(output)
        return output

    def go_on(self) -> None:
        unit = self.driver.playing
        assert unit is not None, "nothing comes"
        if unit.config.voice == "nobody":
            self.driver.fail("no such voice", invalid=True)
        elif not self.driver.spoken:
            self.driver.speak()
        elif unit.text.startswith(("Fail", "Lost")):
            self.driver.fail("broken", fatal=unit.text.startswith("Lost"))
        else:
            self.driver.complete()

    def happen(self, step: Happen) -> None:
        match step.what:
            case "wait":
                self.driver.wait(step.seconds)
            case "shutdown":
                self.driver.deliver(Shutdown())
            case "disconnect":
                self.driver.deliver(Disconnected())
                assert self.driver.aborted
                assert self.driver.session.closed
                self.driver.take()


@pytest.mark.parametrize("transcript", ALL, ids=lambda transcript: transcript.name)
def test_transcript(transcript: Transcript) -> None:
    Replay(transcript).run(transcript)


def test_every_error_code_is_heard_in_a_transcript() -> None:
    heard = {
        step.fields["code"]
        for transcript in ALL
        for step in transcript.steps
        if isinstance(step, Hear) and "code" in step.fields
    }
    assert heard == set(ErrorCode)


def test_a_line_that_is_none() -> None:
    with pytest.raises(ValueError, match="not a line of a transcript: hello"):
        parse("x", "# title\nhello")


def test_a_replay_notices_what_is_not_said() -> None:
    transcript = parse("x", '# title\n> {"type":"session.config"}\n< {"type":"pong"}')
    with pytest.raises(AssertionError, match="instead of"):
        Replay(transcript).run(transcript)


def test_a_replay_notices_what_is_said_besides() -> None:
    transcript = parse("x", '# title\n> {"type":"session.config"}')
    with pytest.raises(AssertionError):
        Replay(transcript).run(transcript)
