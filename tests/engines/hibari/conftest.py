"""The network is loaded once for all tests of this folder."""

import onnxruntime as ort
import pytest

from antiphon.engines.hibari import HibariEngine
from antiphon.engines.hibari.model import Encoded, HibariModel

SENTENCE = "Your order has been shipped, and it should arrive on Thursday."


@pytest.fixture(scope="session")
def engine() -> HibariEngine:
    engine = HibariEngine()
    engine.load()
    return engine


@pytest.fixture(scope="session")
def model(engine: HibariEngine) -> HibariModel:
    return engine._loaded()


@pytest.fixture(scope="session")
def encoded(model: HibariModel) -> Encoded:
    return model.encode(next(model.read(SENTENCE)), 1.0, ort.RunOptions())
