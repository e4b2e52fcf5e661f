"""What our tests use and yours may: a speech server in memory, and for engines a conformance kit and bad examples.

`FakeEndpoint` answers a client as vLLM-Omni does. `check_engine`, or one test for each of `ENGINE_CHECKS`, says whether
an engine keeps its contract. `SlowEngine`, `FailingEngine` and `GatedEngine` misbehave on purpose.
"""

from antiphon.testing.conformance import ENGINE_CHECKS, ConformanceError, EngineCheck, Subject, check_engine
from antiphon.testing.endpoint import FakeEndpoint, FakeTransport, fake_speech
from antiphon.testing.engines import FailingEngine, GatedEngine, HookedEngine, SlowEngine

__all__ = [
    "ENGINE_CHECKS",
    "ConformanceError",
    "EngineCheck",
    "FailingEngine",
    "FakeEndpoint",
    "FakeTransport",
    "GatedEngine",
    "HookedEngine",
    "SlowEngine",
    "Subject",
    "check_engine",
    "fake_speech",
]
