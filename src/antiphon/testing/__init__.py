"""What our tests use and yours may: a speech server in memory, and for engines a conformance kit and bad examples.

`FakeEndpoint` answers a client as vLLM-Omni does. `check_engine`, or one test for each of `ENGINE_CHECKS`, says whether
an engine keeps its contract. `SlowEngine`, `FailingEngine` and `GatedEngine` misbehave on purpose.

`local_sagemaker` is a fixture of pytest, and `LocalSageMaker` the same without pytest's help: AWS's SDKs against a local
SageMaker (``pip install 'antiphon[emulator]'``).
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from antiphon.testing.conformance import ENGINE_CHECKS, ConformanceError, EngineCheck, Subject, check_engine
from antiphon.testing.endpoint import FakeEndpoint, FakeTransport, fake_speech
from antiphon.testing.engines import FailingEngine, GatedEngine, HookedEngine, SlowEngine

if TYPE_CHECKING:
    from antiphon.emulator.process import LocalSageMaker, LocalSageMakerError
    from antiphon.testing.sagemaker import local_sagemaker

# They need pytest or an extra, which those who only want a fake may not have.
_LAZY = {
    "LocalSageMaker": "antiphon.emulator.process",
    "LocalSageMakerError": "antiphon.emulator.process",
    "local_sagemaker": "antiphon.testing.sagemaker",
}

__all__ = [
    "ENGINE_CHECKS",
    "ConformanceError",
    "EngineCheck",
    "FailingEngine",
    "FakeEndpoint",
    "FakeTransport",
    "GatedEngine",
    "HookedEngine",
    "LocalSageMaker",
    "LocalSageMakerError",
    "SlowEngine",
    "Subject",
    "check_engine",
    "fake_speech",
    "local_sagemaker",
]


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
