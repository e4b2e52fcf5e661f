import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from antiphon.audio.pcm import PcmChunk
from antiphon.engines.contract import EngineError, SpeechUnit
from antiphon.engines.tone import tone_pcm
from antiphon.testing.engines import FailingEngine, GatedEngine, SlowEngine

UNIT = SpeechUnit("Checked to the last byte.")


def test_a_slow_engine_takes_its_time_and_speaks_the_tone() -> None:
    engine = SlowEngine(step_s=0.01, chunk_ms=400)
    start = time.monotonic()
    chunks = list(engine.synthesize(UNIT))
    assert time.monotonic() - start >= 0.01 * len(chunks)
    assert b"".join(chunk.data for chunk in chunks) == tone_pcm(UNIT.text)


def test_closing_cuts_the_wait_of_a_slow_engine_short() -> None:
    synthesis = SlowEngine(step_s=60).synthesize(UNIT)
    with ThreadPoolExecutor(1) as pool:
        stepping = pool.submit(list[PcmChunk], synthesis)
        synthesis.close()
        assert stepping.result(5) == []


@pytest.mark.parametrize("step", [0, 2])
def test_a_failing_engine_fails_at_its_step(step: int) -> None:
    synthesis = FailingEngine(fail_at=step).synthesize(UNIT)
    for _ in range(step):
        next(synthesis)
    with pytest.raises(EngineError, match="fails here"):
        next(synthesis)


def test_a_failing_engine_raises_what_it_was_given() -> None:
    with pytest.raises(MemoryError):
        next(FailingEngine(0, MemoryError()).synthesize(UNIT))


def test_a_gate_lets_as_many_steps_go_as_were_released() -> None:
    engine = GatedEngine()
    synthesis = engine.synthesize(UNIT)
    with ThreadPoolExecutor(1) as pool:
        stepping = pool.submit(lambda: [next(synthesis), next(synthesis)])
        assert engine.wait_started(1)
        engine.release()
        assert engine.wait_started(2)
        assert not stepping.done()
        engine.release()
        assert len(stepping.result(5)) == 2
    assert engine.steps_started == 2


def test_an_open_gate_stays_open() -> None:
    engine = GatedEngine()
    engine.open()
    assert b"".join(chunk.data for chunk in engine.synthesize(UNIT)) == tone_pcm(UNIT.text)


def test_closing_ends_a_gated_step_and_spends_no_permit() -> None:
    engine = GatedEngine()
    synthesis = engine.synthesize(UNIT)
    with ThreadPoolExecutor(1) as pool:
        stepping = pool.submit(list[PcmChunk], synthesis)
        assert engine.wait_started(1)
        synthesis.close()
        assert stepping.result(5) == []
    engine.release()
    assert next(engine.synthesize(UNIT)).data


def test_a_closed_unit_starts_no_step() -> None:
    engine = GatedEngine()
    synthesis = engine.synthesize(UNIT)
    synthesis.close()
    assert list(synthesis) == []
    assert engine.steps_started == 0


def test_waiting_for_a_step_that_never_starts_ends() -> None:
    assert not GatedEngine().wait_started(1, timeout_s=0.01)
