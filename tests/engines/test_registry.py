import subprocess
import sys

import pytest

from antiphon.engines import registry
from antiphon.engines.contract import EngineError
from antiphon.engines.tone import ToneEngine


def test_names_are_listed_in_order() -> None:
    assert registry.engine_names() == ("hibari", "tone")


def test_create_passes_options_on() -> None:
    engine = registry.create("tone", chunk_ms=40)
    assert isinstance(engine, ToneEngine)
    assert engine._chunk_samples == 960


def test_an_unknown_name_is_answered_with_those_there_are() -> None:
    with pytest.raises(EngineError, match="no engine named 'nope'; available: hibari, tone"):
        registry.create("nope")


def test_an_unknown_option_is_answered_with_those_there_are() -> None:
    with pytest.raises(EngineError, match="has no option colour; it knows: chunk_ms, step_delay_ms, dialect"):
        registry.create("tone", colour="red")


def test_a_bad_option_value_says_what_is_allowed() -> None:
    with pytest.raises(EngineError, match="chunk_ms must be from 1 to 2000"):
        registry.create("tone", chunk_ms=0)


def test_a_missing_package_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = registry._Entry("package_that_is_not_there.engine", "Engine", "antiphon[extra]")
    monkeypatch.setitem(registry._ENGINES, "extra", entry)
    with pytest.raises(EngineError, match=r"package_that_is_not_there.*pip install 'antiphon\[extra\]'"):
        registry.create("extra")


def test_asking_for_names_imports_no_engine() -> None:
    script = (
        "import sys; from antiphon.engines import registry; registry.engine_names();"
        "assert not {'numpy.fft', 'onnxruntime', 'hibari', 'antiphon.engines.tone'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
