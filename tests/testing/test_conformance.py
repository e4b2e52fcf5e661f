import functools
import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, cast

import pytest

from antiphon.audio.pcm import PcmChunk
from antiphon.engines.contract import EngineError, SpeechUnit, StepEngine, Synthesis, Voice
from antiphon.engines.registry import create
from antiphon.engines.tone import ToneEngine
from antiphon.testing.conformance import (
    ENGINE_CHECKS,
    ConformanceError,
    EngineCheck,
    Subject,
    check_engine,
    closes_while_a_step_runs,
)
from antiphon.testing.engines import HookedEngine, SlowEngine


@functools.cache
def engine(name: str) -> StepEngine:
    return SlowEngine(0.001) if name == "slow" else cast("StepEngine", create(name))


@pytest.mark.parametrize("check", ENGINE_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", ["tone", "hibari", "slow"])
def test_our_engines_keep_the_contract(name: str, check: EngineCheck) -> None:
    check(Subject(engine(name)))


def test_all_checks_in_one_call() -> None:
    check_engine(ToneEngine(), texts=("One two three.", "Four five six."))


class Broken(HookedEngine):
    """Does what the contract forbids, in the one way its argument names."""

    def __init__(self, fault: str) -> None:
        super().__init__()
        self.fault = fault
        self.spoken = 0
        changes: dict[str, dict[str, Any]] = {
            "rate": {"sample_rate": 8000},
            "no voices": {"voices": ()},
            "upper case": {"voices": (Voice("Vivian", ("English",)),)},
            "lost alias": {"aliases": {"alloy": "nobody"}},
        }
        self.info = replace(self.info, **changes.get(fault, {}))

    def check(self, unit: SpeechUnit) -> None:
        if self.fault != "takes any voice":
            super().check(unit)

    def synthesize(self, unit: SpeechUnit) -> Synthesis:
        self.spoken += 1
        self.check(unit)
        safe = replace(unit, voice=None, language=None, text=unit.text if unit.text.strip() else "x")
        return BrokenSynthesis(self, super().synthesize(safe))


class BrokenSynthesis:
    def __init__(self, engine: Broken, inner: Synthesis) -> None:
        self.engine, self.inner, self.closed = engine, inner, False

    @property
    def exhausted(self) -> bool:
        return self.engine.fault == "says it has ended" or self.inner.exhausted

    def __iter__(self) -> Iterator[PcmChunk]:
        return self

    def __next__(self) -> PcmChunk:
        fault = self.engine.fault
        if fault == "goes on after close" and self.closed:
            self.closed = False
            return PcmChunk(b"\0\0", 24_000)
        chunk = next(self.inner)
        if fault == "half a sample":
            return PcmChunk(chunk.data + b"\0", chunk.sample_rate)
        if fault == "never the same":
            return PcmChunk(chunk.data + b"\0\0" * self.engine.spoken, chunk.sample_rate)
        if fault == "silent":
            return PcmChunk(b"", chunk.sample_rate)
        return chunk

    def close(self) -> None:
        self.closed = True
        if self.engine.fault != "deaf to close":
            self.inner.close()


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("rate", "declared rate"),
        ("no voices", "at least one voice"),
        ("upper case", "lower case"),
        ("lost alias", "every alias"),
        ("takes any voice", "accepts voice no-such-voice"),
        ("goes on after close", "gives nothing more"),
        ("half a sample", "whole samples"),
        ("deaf to close", "gives nothing more"),
        ("never the same", "says it is deterministic"),
        ("silent", "speaks"),
        ("says it has ended", "or says it has"),
    ],
)
def test_a_broken_promise_is_found(fault: str, message: str) -> None:
    with pytest.raises(ConformanceError, match=message):
        check_engine(Broken(fault))


def test_a_step_that_begins_after_close_is_found_however_fast_the_engine_is() -> None:
    with pytest.raises(ConformanceError, match="ends soon after"):
        closes_while_a_step_runs(Subject(Broken("deaf to close"), timeout_s=0.1))


def test_a_step_that_never_ends_is_reported_and_not_waited_for() -> None:
    gate = threading.Event()

    class Stuck(HookedEngine):
        def before_step(self, index: int, closed: threading.Event) -> None:
            if index == 5:  # a short unit has fewer
                gate.wait()

    try:
        with pytest.raises(ConformanceError, match="ends soon after"):
            closes_while_a_step_runs(Subject(Stuck(), texts=("Aye.", "No."), timeout_s=0.05))
    finally:
        gate.set()


def test_an_error_of_a_step_that_was_closed_is_found() -> None:
    class Sore(HookedEngine):
        def before_step(self, index: int, closed: threading.Event) -> None:
            if index == 5:  # a short unit has fewer
                closed.wait()
                raise EngineError("closed")

    with pytest.raises(ConformanceError, match="ends without an error"):
        closes_while_a_step_runs(Subject(Sore(), texts=("Aye.", "No.")))
