"""Engines that misbehave on purpose, for tests of whatever drives engines.

They speak as `tone` does, so every byte can still be checked with `antiphon.engines.tone.tone_pcm`.
"""

import threading
from collections.abc import Iterator
from dataclasses import replace

from antiphon.audio.pcm import PcmChunk
from antiphon.engines.contract import EngineError, EngineInfo, SpeechUnit, Synthesis
from antiphon.engines.tone import ToneEngine


class HookedEngine:
    """The tone, with something done before each step; the base of the other fakes.

    Args:
        chunk_ms: audio per step.
    """

    def __init__(self, chunk_ms: int = 80) -> None:
        self._tone = ToneEngine(chunk_ms=chunk_ms)
        # Above what is stepped on an event loop: a step that waits there would stop the world.
        self.info: EngineInfo = replace(self._tone.info, step_ms=1.0)

    def load(self) -> None:
        """As the tone."""
        self._tone.load()

    def check(self, unit: SpeechUnit) -> None:
        """As the tone."""
        self._tone.check(unit)

    def synthesize(self, unit: SpeechUnit) -> Synthesis:
        """As the tone, hooked."""
        return _HookedSynthesis(self, self._tone.synthesize(unit))

    def before_step(self, index: int, closed: threading.Event) -> None:
        """Run in the stepping thread before step `index` (from 0) of a unit; `closed` is set by the unit's `close`."""

    def after_close(self) -> None:
        """Run in the closing thread at the end of a unit's `close`."""


class _HookedSynthesis:
    def __init__(self, engine: HookedEngine, inner: Synthesis) -> None:
        self._engine = engine
        self._inner = inner
        self._closed = threading.Event()
        self._index = 0

    @property
    def exhausted(self) -> bool:
        return self._inner.exhausted

    def __iter__(self) -> Iterator[PcmChunk]:
        return self

    def __next__(self) -> PcmChunk:
        if not self._closed.is_set():
            index, self._index = self._index, self._index + 1
            self._engine.before_step(index, self._closed)
        return next(self._inner)

    def close(self) -> None:
        self._closed.set()
        self._inner.close()
        self._engine.after_close()


class SlowEngine(HookedEngine):
    """Every step takes `step_s` seconds of waiting; `close` cuts the wait short.

    Args:
        step_s: seconds per step.
        chunk_ms: audio per step.
    """

    def __init__(self, step_s: float, chunk_ms: int = 80) -> None:
        super().__init__(chunk_ms)
        self._step_s = step_s

    def before_step(self, index: int, closed: threading.Event) -> None:  # noqa: ARG002  # the hook's signature
        """Wait."""
        closed.wait(self._step_s)


class FailingEngine(HookedEngine):
    """Step `fail_at` (from 0) of every unit raises.

    Args:
        fail_at: which step.
        error: what it raises.
        chunk_ms: audio per step.
    """

    def __init__(self, fail_at: int, error: Exception | None = None, chunk_ms: int = 80) -> None:
        super().__init__(chunk_ms)
        self._fail_at = fail_at
        self._error = error or EngineError("the fake engine fails here")

    def before_step(self, index: int, closed: threading.Event) -> None:  # noqa: ARG002  # the hook's signature
        """Raise, when it is time to."""
        if index == self._fail_at:
            raise self._error


class GatedEngine(HookedEngine):
    """A step blocks until the test lets it go; `close` ends it too.

    Attributes:
        steps_started: how many steps of all units have begun, blocked ones included.
    """

    def __init__(self, chunk_ms: int = 80) -> None:
        super().__init__(chunk_ms)
        self._changed = threading.Condition()
        self._permits = 0
        self._open = False
        self.steps_started = 0

    def release(self, steps: int = 1) -> None:
        """Let `steps` further steps go, of whichever units."""
        with self._changed:
            self._permits += steps
            self._changed.notify_all()

    def open(self) -> None:
        """Let all steps go from now on."""
        with self._changed:
            self._open = True
            self._changed.notify_all()

    def wait_started(self, steps: int, timeout_s: float = 5.0) -> bool:
        """Wait until `steps` steps have begun in all; return whether that happened in time."""
        with self._changed:
            return self._changed.wait_for(lambda: self.steps_started >= steps, timeout_s)

    def before_step(self, index: int, closed: threading.Event) -> None:  # noqa: ARG002  # the hook's signature
        """Count, then wait for a permit."""
        with self._changed:
            self.steps_started += 1
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._open or self._permits > 0 or closed.is_set())
            if not self._open and not closed.is_set():
                self._permits -= 1

    def after_close(self) -> None:
        """Wake blocked steps, to see whether it was they who were closed."""
        with self._changed:
            self._changed.notify_all()
