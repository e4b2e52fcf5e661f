"""Reading ahead changes nothing: any interleaving sends what a server would that reads one message at a time."""

import itertools
import json
from collections.abc import Iterator, Mapping
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test
from tests.protocol.driver import CLOSE, CONFIG, DONE, Driver, Output, message, text
from tests.protocol.serial import Spoken, serve

from antiphon.protocol import DIALECT_0_26, DIALECT_0_30, Dialect, Limits, State
from antiphon.protocol.events import (
    AudioChunk,
    CloseConnection,
    CutOff,
    Disconnected,
    Event,
    Flushed,
    OutputSent,
    Received,
    Shutdown,
    TimePassed,
    UnitCompleted,
    UnitFailed,
    UnitReady,
)
from antiphon.protocol.transitions import OTHER_TRANSITIONS, TRANSITIONS

LIMITS = Limits(max_pending_units=3, max_pending_replies=4, max_pending_chars=60)


def config(fields: Mapping[str, object]) -> str:
    return json.dumps({**CONFIG, **fields})


good_configs = st.fixed_dictionaries(
    {},
    optional={
        "split_granularity": st.sampled_from(["none", "sentence"]),
        "stream_audio": st.booleans(),
        "word_timestamps": st.sampled_from([False, False, True]),
        "model": st.sampled_from(["", "tone"]),
    },
).map(config)
BAD_FIELDS: list[Mapping[str, object]] = [{"speed": 9}, {"model": "x"}, {"stream_audio": "perhaps"}]
bad_configs = st.sampled_from(BAD_FIELDS).map(config)
texts = st.text("ab. fF", max_size=8).map(text)
survivable = st.sampled_from(
    [message("ping"), "{}", "[]", "{", message("input.text", text=1), text("\ud800"), text("!"), text("")]
)
last_words = st.sampled_from([CLOSE, b"x", text("X."), *([DONE] * 3)])
client_frames = st.one_of(texts, texts, texts, st.just(DONE), good_configs, bad_configs, survivable, last_words)


def speak(unit: str) -> Spoken:
    """A unit with f fails, with F before any audio, with X for good; an odd one ends with an empty chunk."""
    chunks = () if "F" in unit else (unit.encode(), b"") if len(unit) % 2 else (unit.encode() * 3,)
    failing = any(letter in unit for letter in "fFX")
    return Spoken(chunks, "no voice" if failing else None, fatal="X" in unit)


def events_of(unit: str) -> Iterator[Event]:
    spoken = speak(unit)
    yield from map(AudioChunk, spoken.chunks)
    yield UnitCompleted() if spoken.failure is None else UnitFailed(spoken.failure, fatal=spoken.fatal)


class ReadAhead(RuleBasedStateMachine):
    """A client and a synthesiser that take turns in any order."""

    dialect: Dialect = DIALECT_0_30

    def __init__(self) -> None:
        super().__init__()
        self.driver = Driver(self.dialect, LIMITS)
        self.frames: list[str | bytes] = []
        self.synthesis: Iterator[Event] = iter(())
        self.spoken: list[int] = []

    @property
    def can_read(self) -> bool:
        return self.driver.session.reading

    @precondition(lambda self: not self.frames)
    @rule(frame=good_configs)
    def configures(self, frame: str) -> None:
        self.client_sends(frame)

    @precondition(lambda self: self.can_read and self.frames)
    @rule(frame=client_frames)
    def client_sends(self, frame: str | bytes) -> None:
        before = self.driver.session.state
        self.frames.append(frame)
        self.driver.client(frame)
        assert_in_table(before, self.driver.session.state)

    @precondition(lambda self: self.driver.playing is not None)
    @rule()
    def synthesis_goes_on(self) -> None:
        playing = self.driver.playing
        assert playing is not None
        if playing not in self.spoken:
            self.spoken.append(playing)
            self.synthesis = events_of(self.driver.prepared[playing].text)
        event = next(self.synthesis)
        if not isinstance(event, AudioChunk):
            self.driver.playing = None
        self.driver.deliver(event)

    @rule()
    def time_passes(self) -> None:
        self.driver.wait(0.01)

    @invariant()
    def never_deadlocks(self) -> None:
        session = self.driver.session
        assert session.reading or session.closed or self.driver.playing is not None

    @invariant()
    def is_a_prefix_of_the_serial_output(self) -> None:
        expected = serve(self.frames, self.dialect, speak)
        assert self.driver.outputs == expected[: len(self.driver.outputs)]

    @invariant()
    def prepares_a_bounded_number(self) -> None:
        playing = self.driver.playing
        assert playing is None or playing < len(self.driver.prepared) <= playing + 3

    def teardown(self) -> None:
        while self.driver.playing is not None:
            self.synthesis_goes_on()
        assert self.driver.outputs == serve(self.frames, self.dialect, speak)
        assert self.spoken == sorted(set(self.spoken)), "a unit was spoken twice or out of turn"
        assert_grammar(self.driver.outputs)


class ReadAhead026(ReadAhead):
    dialect = DIALECT_0_26


def assert_in_table(before: State, after: State) -> None:
    targets = {target for (source, _), cell in TRANSITIONS.items() if source is before for target in cell.leads_to}
    targets |= {other.target for other in OTHER_TRANSITIONS if other.source is before}
    if State.CLOSING in targets:
        targets.add(State.CLOSED)  # nothing was left to send
    assert after in targets | {before}


def assert_grammar(outputs: list[Output]) -> None:
    """Every unit is start (binary)* [error] done; the counters count; nothing follows a close."""
    utterances = itertools.count()
    sentences = 0
    remaining = iter(outputs)
    for output in remaining:
        if isinstance(output, CloseConnection):
            assert list(remaining) == []
            return
        assert isinstance(output, dict), "audio outside a unit"
        match output["type"]:
            case "audio.start":
                assert output["sentence_index"] >= sentences
                sentences = output["sentence_index"] + 1
                assert_unit(output, remaining)
            case "session.done":
                assert output["utterance_index"] == next(utterances)
                assert output["total_sentences"] >= sentences
                sentences = 0
            case kind:
                assert (kind, output.get("partial_audio")) == ("error", None)


def assert_unit(start: dict[str, Any], remaining: Iterator[Output]) -> None:
    total = 0
    failed = False
    for output in remaining:
        if isinstance(output, bytes):
            assert not failed
            total += len(output)
            continue
        assert isinstance(output, dict)
        if output["type"] == "error":
            assert not failed
            failed = True
            continue
        index = {name: start[name] for name in ("utterance_index", "sentence_index")}
        assert output == {"type": "audio.done", **index, "total_bytes": total, "error": failed}
        return


def test_0_30_equals_the_serial_server() -> None:
    run_state_machine_as_test(ReadAhead, settings=settings(max_examples=150, stateful_step_count=40, deadline=None))


def test_0_26_equals_the_serial_server() -> None:
    run_state_machine_as_test(ReadAhead026, settings=settings(max_examples=80, stateful_step_count=40, deadline=None))


any_event = st.one_of(
    st.builds(Received, st.one_of(client_frames, good_configs, st.text(), st.binary())),
    st.builds(AudioChunk, st.binary()),
    st.just(UnitCompleted()),
    st.builds(UnitFailed, st.text(), fatal=st.booleans()),
    st.builds(UnitReady, st.text(min_size=1), st.integers(0, 9), st.integers(0, 9)),
    st.just(Flushed()),
    st.just(TimePassed()),
    st.just(Disconnected()),
    st.just(OutputSent()),
    st.just(Shutdown()),
    st.just(CutOff()),
)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(any_event, st.floats(0, 20)), max_size=40), st.booleans())
def test_events_in_any_order_do_not_break_it(events: list[tuple[Event, float]], start: bool) -> None:
    driver = Driver(DIALECT_0_30, LIMITS)
    if start:
        driver.client(json.dumps(CONFIG))
    for event, seconds in events:
        driver.now += seconds
        if isinstance(event, UnitCompleted | UnitFailed):
            driver.playing = None
        driver.deliver(event)
        assert not (driver.session.closed and driver.session.reading)
        assert driver.session.closed <= (driver.session.next_deadline is None)
    closes = [index for index, output in enumerate(driver.outputs) if isinstance(output, CloseConnection)]
    assert closes in ([], [len(driver.outputs) - 1])
