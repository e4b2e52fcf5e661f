import math
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.engines.contract import InvalidRequestError, SpeechUnit
from antiphon.engines.tone import FADE_SAMPLES, SAMPLES_PER_CHARACTER, ToneEngine, tone_length, tone_pcm

TEXT = "Every sample of this sentence is known beforehand."


def spoken(engine: ToneEngine, unit: SpeechUnit) -> bytes:
    return b"".join(chunk.data for chunk in engine.synthesize(unit))


def samples(data: bytes) -> np.ndarray[tuple[int], np.dtype[np.int16]]:
    return np.frombuffer(data, dtype="<i2")


@given(
    text=st.text(min_size=1, max_size=80).filter(str.strip),
    chunk_ms=st.integers(1, 2000),
    speed=st.floats(0.25, 4.0),
)
def test_what_the_engine_sends_is_what_tone_pcm_says(text: str, chunk_ms: int, speed: float) -> None:
    engine = ToneEngine(chunk_ms=chunk_ms)
    assert spoken(engine, SpeechUnit(text, speed=speed)) == tone_pcm(text, speed=speed)


@given(text=st.text(min_size=1, max_size=20), cut=st.integers(0, 20 * SAMPLES_PER_CHARACTER))
def test_any_stretch_equals_the_same_stretch_of_the_whole(text: str, cut: int) -> None:
    cut = min(cut, tone_length(text))
    assert tone_pcm(text, 0, cut) + tone_pcm(text, cut) == tone_pcm(text)


@pytest.mark.parametrize("index", [FADE_SAMPLES, 1234, 24_000, 24_001, 50_000])
def test_a_sample_follows_from_the_formula(index: int) -> None:
    scale = (196, 220, 247, 294, 330, 392, 440, 494, 587, 659)
    cycles = scale[zlib.crc32(TEXT.encode()) % len(scale)]
    phase = 2 * math.pi * cycles * index / 24_001
    expected = round(6000 * math.sin(phase) + 1800 * math.sin(2 * phase) + 600 * math.sin(3 * phase))
    assert int(samples(tone_pcm(TEXT, index, index + 1))[0]) == pytest.approx(expected, abs=1)


def test_the_length_follows_from_text_speed_and_token_cap() -> None:
    assert tone_length("abc") == 3 * SAMPLES_PER_CHARACTER
    assert tone_length("abc", speed=2.0) == 3 * SAMPLES_PER_CHARACTER // 2
    assert tone_length("abc", max_new_tokens=1) == 1920
    assert tone_length("x" * 1_000_000) == 2048 * 1920


def test_chunks_have_the_length_asked_for_and_no_chunk_is_empty() -> None:
    sizes = [chunk.samples for chunk in ToneEngine(chunk_ms=160).synthesize(SpeechUnit(TEXT))]
    assert set(sizes[:-1]) == {3840}
    assert 0 < sizes[-1] <= 3840


def test_no_chunk_can_be_swapped_lost_or_doubled_unnoticed() -> None:
    chunks = [chunk.data for chunk in ToneEngine(chunk_ms=160).synthesize(SpeechUnit("x" * 600))]
    assert len(set(chunks)) == len(chunks)


def test_neither_the_ends_nor_a_seam_click() -> None:
    wave = samples(spoken(ToneEngine(), SpeechUnit(TEXT))).astype(int)
    steepest = 2 * math.pi * 659 / 24_000 * (6000 + 2 * 1800 + 3 * 600)
    assert np.abs(np.diff(wave)).max() <= steepest + 2
    assert abs(wave[0]) <= 1
    assert abs(wave[-1]) <= 1


def test_different_texts_sound_different() -> None:
    assert len({tone_pcm(text, 200, 400) for text in ("one", "two", "three", "four", "five")}) > 1


def test_the_last_chunk_is_known_to_be_the_last() -> None:
    synthesis = ToneEngine().synthesize(SpeechUnit(TEXT))
    known = [synthesis.exhausted for _ in synthesis]
    assert known == [False] * (len(known) - 1) + [True]


def test_the_end_stays_the_end_and_close_is_one() -> None:
    synthesis = ToneEngine().synthesize(SpeechUnit(TEXT))
    next(synthesis)
    synthesis.close()
    synthesis.close()
    assert list(synthesis) == []
    assert list(synthesis) == []


def test_it_refuses_when_the_synthesis_is_asked_for() -> None:
    with pytest.raises(InvalidRequestError, match="Invalid voice 'nobody'"):
        ToneEngine().synthesize(SpeechUnit(TEXT, voice="Nobody"))


def test_the_older_release_refuses_in_its_own_order() -> None:
    unit = SpeechUnit(TEXT, task_type="VoiceDesign")
    with pytest.raises(InvalidRequestError, match="does not support task_type"):
        ToneEngine().check(unit)
    with pytest.raises(InvalidRequestError, match="requires 'instructions'"):
        ToneEngine(dialect="0.26").check(unit)


@pytest.mark.parametrize("options", [{"chunk_ms": 0}, {"chunk_ms": 2001}, {"step_delay_ms": -1}, {"dialect": "1"}])
def test_nonsense_options_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=next(iter(options))):
        ToneEngine(**options)  # type: ignore[arg-type]  # the point of the test
