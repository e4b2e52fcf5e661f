import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import onnxruntime as ort
import pytest

from antiphon.audio.measures import audible_span, seam_step
from antiphon.engines.contract import EngineError, InvalidRequestError, SpeechUnit
from antiphon.engines.hibari import HibariEngine
from antiphon.engines.hibari.model import Encoded, HibariModel
from antiphon.engines.hibari.synthesis import Delivery, HibariSynthesis
from antiphon.engines.hibari.voices import Timbre

RATE = 24_000
LONG = "Streaming speech lets a voice begin to talk before the answer is written, which feels natural. " * 6


def spoken(engine: HibariEngine, text: str, **how: object) -> bytes:
    return b"".join(chunk.data for chunk in engine.synthesize(SpeechUnit(text, **how)))  # type: ignore[arg-type]  # any field


def silences_ms(pcm: bytes, at_least_ms: float) -> list[float]:
    """The silences between the first and the last sound."""
    start, stop = audible_span(pcm) or (0, 0)
    loud = np.flatnonzero(np.abs(np.frombuffer(pcm, dtype="<i2")[start:stop].astype(int)) > 32)
    gaps = np.diff(loud) / RATE * 1000
    return [float(gap) for gap in gaps if gap >= at_least_ms]


@pytest.mark.parametrize("pause_ms", [40, 200, 450])
def test_the_pause_between_sentences_is_pause_ms(engine: HibariEngine, pause_ms: int) -> None:
    pausing = HibariEngine(pause_ms=pause_ms)
    pausing._model = engine._loaded()
    first, second = "The keeper lit the lamp.", "No sailor doubted it."
    together = spoken(pausing, f"{first} {second}")
    apart = spoken(pausing, first) + spoken(pausing, second)
    for pcm in (together, apart):
        assert min(abs(gap - pause_ms) for gap in silences_ms(pcm, 20)) <= 10


@pytest.mark.parametrize("speed", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("text", ["Hello there.", LONG[:100]])
def test_a_unit_begins_20_ms_before_its_sound_and_ends_180_ms_after_it(
    engine: HibariEngine, text: str, speed: float
) -> None:
    pcm = spoken(engine, text, speed=speed)
    start, stop = audible_span(pcm) or (0, 0)
    assert start / RATE * 1000 == 20
    assert (len(pcm) // 2 - stop) / RATE * 1000 == 180


def test_the_first_chunk_is_short_and_audible_and_the_rest_bounded(engine: HibariEngine) -> None:
    chunks = list(engine.synthesize(SpeechUnit(LONG)))
    assert 0.05 <= chunks[0].duration_s <= 0.15
    assert audible_span(chunks[0].data)
    assert max(chunk.duration_s for chunk in chunks) <= 1.5 * 0.8 + 0.2


def test_no_seam_and_no_end_clicks(engine: HibariEngine) -> None:
    chunks = [chunk.data for chunk in engine.synthesize(SpeechUnit(LONG[:200], voice="heart-low"))]
    wave = np.frombuffer(bytes(2 * RATE) + b"".join(chunks) + bytes(2 * RATE), dtype="<i2")
    seams = RATE + np.cumsum([0, *(len(chunk) // 2 for chunk in chunks)])
    assert max(seam_step(wave, int(seam)) for seam in seams) < 10 ** (-50 / 20)


@pytest.mark.parametrize("text", ["Hi.", LONG])
def test_the_last_chunk_is_known_to_be_the_last(engine: HibariEngine, text: str) -> None:
    synthesis = engine.synthesize(SpeechUnit(text))
    known = [synthesis.exhausted for _ in synthesis]
    assert known == [False] * (len(known) - 1) + [True]


def test_a_closed_unit_lets_go_of_what_it_computed(engine: HibariEngine) -> None:
    synthesis = engine.synthesize(SpeechUnit(LONG))
    next(synthesis)
    work = weakref.ref(synthesis._chunks)
    synthesis.close()
    assert work() is None


def test_the_seed_decides_the_noise_and_nothing_else(engine: HibariEngine) -> None:
    default = spoken(engine, "Hello there.")
    assert spoken(engine, "Hello there.", seed=0) == default
    other = spoken(engine, "Hello there.", seed=1)
    assert other != default
    assert abs(len(other) - len(default)) / 2 / RATE < 0.02


def pitch_hz(pcm: bytes) -> float:
    """Median fundamental of the loud 80 ms frames, by autocorrelation between 60 and 400 Hz."""
    samples = np.frombuffer(pcm, dtype="<i2").astype(np.float64)
    frames = np.lib.stride_tricks.sliding_window_view(samples, 1920)[::480]
    frames = frames[np.abs(frames).max(axis=1) > 1500]
    spectra = np.abs(np.fft.rfft(frames, 3840, axis=1)) ** 2
    lags = np.fft.irfft(spectra, axis=1)[:, RATE // 400 : RATE // 60]
    return float(np.median(RATE / (RATE // 400 + lags.argmax(axis=1))))


def test_derived_voices_are_lower_and_higher(engine: HibariEngine) -> None:
    voices = ("heart-low", "heart-mid", "heart", "heart-high")
    low, mid, own, high = (
        pitch_hz(spoken(engine, "We were away all year, you and I.", voice=voice)) for voice in voices
    )
    assert low < mid * 0.9 < own * 0.8
    assert high > own * 1.05


def test_speed_changes_the_length(engine: HibariEngine) -> None:
    slow, fast = (len(spoken(engine, LONG[:95], speed=speed)) for speed in (0.5, 2.0))
    assert slow / fast == pytest.approx(4, rel=0.2)


@pytest.mark.parametrize(
    ("unit", "message"),
    [
        (SpeechUnit("Hi", language="Japanese"), "speaks English, not Japanese"),
        (SpeechUnit("Hi", voice="alloy"), "no voice 'alloy'"),
        (SpeechUnit("Hi", speed=0.49), r"speeds from 0\.5 to 2\.0, not 0\.49"),
        (SpeechUnit("Hi", speed=2.01), r"speeds from 0\.5 to 2\.0"),
        (SpeechUnit("今天天气很好"), "Latin letters; this text is mostly CJK"),
        (SpeechUnit("Hi", task_type="VoiceDesign"), "task_type must be CustomVoice"),
        (SpeechUnit("Hi", ref_audio="data:,", ref_text="x"), "clone one: ref_audio, ref_text"),
        (SpeechUnit("Hi", speaker_embedding=(0.1,)), "clone one: speaker_embedding"),
    ],
)
def test_what_it_cannot_do_is_refused_with_what_it_can(engine: HibariEngine, unit: SpeechUnit, message: str) -> None:
    with pytest.raises(InvalidRequestError, match=message):
        engine.check(unit)


@pytest.mark.parametrize("text", ["\U0001f600", "...", "?!", " \n ", "\u200b", "{}"])
def test_nothing_to_pronounce_gives_no_chunk(engine: HibariEngine, text: str) -> None:
    assert list(engine.synthesize(SpeechUnit(text))) == []


def test_emoji_beside_words_are_skipped(engine: HibariEngine) -> None:
    assert audible_span(spoken(engine, "Hello \U0001f600 there."))


class Tireless(HibariModel):
    """Encodes the same sentence again and again, until it is stopped."""

    def __init__(self, model: HibariModel) -> None:
        self.__dict__.update(model.__dict__)
        self.runs = 0
        self.ran = threading.Event()

    def encode(self, ids: list[int], speed: float, options: ort.RunOptions) -> Encoded:
        while True:
            encoded = super().encode(ids, speed, options)
            self.runs += 1
            self.ran.set()
            if self.runs == 1000:
                return encoded


def test_closing_stops_a_running_graph(engine: HibariEngine) -> None:
    model = Tireless(engine._loaded())
    synthesis = HibariSynthesis(lambda: model, "One two three four five.", Delivery(Timbre(), 1.0, 200, 0))
    with ThreadPoolExecutor(1) as pool:
        stepping = pool.submit(next, synthesis, None)
        assert model.ran.wait(10)
        synthesis.close()
        assert stepping.result(10) is None
    assert model.runs < 1000
    assert spoken(engine, "Still here.")


def test_a_graph_that_fails_is_an_engine_error(engine: HibariEngine) -> None:
    synthesis = engine.synthesize(SpeechUnit("Hello there."))
    synthesis._options.terminate = True  # not by close: as if the run had failed
    with pytest.raises(EngineError, match="hibari failed"):
        next(synthesis)


@pytest.mark.parametrize("options", [{"threads": 0}, {"pause_ms": 39}, {"pause_ms": 5001}])
def test_nonsense_options_are_refused(options: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=next(iter(options))):
        HibariEngine(**options)


def test_the_first_step_loads_what_nobody_loaded(engine: HibariEngine) -> None:
    assert (
        next(HibariEngine().synthesize(SpeechUnit("Hello."))).data == next(engine.synthesize(SpeechUnit("Hello."))).data
    )
