import numpy as np
import onnxruntime as ort
import pytest
from hibari import Hibari

from antiphon.audio.measures import AUDIBLE
from antiphon.engines.contract import EngineError
from antiphon.engines.hibari import HibariEngine
from antiphon.engines.hibari.dsp import BINS, FRAME_SAMPLES, Floats, FrameSynthesizer
from antiphon.engines.hibari.model import Encoded, HibariModel, OrtError
from antiphon.engines.hibari.noise import FrameNoise

SENTENCES = (
    "So?",
    "Five fish.",
    "She sells sea shells.",
    "He held his hat.",
    "Stop!",
    "The ticket costs twenty-five dollars, or thirty at the door.",
    "Perhaps: who knows.",
)


def wave(model: HibariModel, encoded: Encoded, window: int) -> Floats:
    synthesizer = FrameSynthesizer(encoded.f0, FrameNoise(0, BINS))
    frames = len(encoded.f0)
    options = ort.RunOptions()
    edges = range(0, frames, window)
    return np.concatenate([synthesizer.push(model.vocode(encoded, a, min(a + window, frames), options)) for a in edges])


def test_both_halves_together_are_the_whole_graph(model: HibariModel, encoded: Encoded) -> None:
    package = Hibari()
    ids = next(model.read("Your order has been shipped, and it should arrive on Thursday."))
    inputs = {"ids": np.asarray([ids], np.int64), "speed": np.ones(1, np.float32)}
    *spectra, f0 = (output[0] for output in package.sess.run(None, inputs))
    np.testing.assert_array_equal(encoded.f0, f0)
    for ours, theirs in zip(model.vocode(encoded, 0, len(f0), ort.RunOptions()), spectra, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_the_package_reads_the_same_ids(model: HibariModel) -> None:
    package = Hibari()
    text = "Dr. Smith paid $9.99 on March 3rd. Did he?\nYes - at 7:30 pm."
    assert list(model.read(text)) == [package.ids(phonemes) for phonemes in package.phonemize(text)]


@pytest.mark.parametrize("window", [13, 64, 256])
def test_windows_sound_like_the_whole(model: HibariModel, encoded: Encoded, window: int) -> None:
    whole = wave(model, encoded, len(encoded.f0))
    error = wave(model, encoded, window) - whole
    assert 10 * np.log10(np.sum(whole**2) / np.sum(error**2)) >= 25


@pytest.mark.parametrize("speed", [0.5, 0.8, 1.0, 1.4, 2.0])
@pytest.mark.parametrize("sentence", SENTENCES)
def test_no_sound_lies_outside_the_frames_called_audible(model: HibariModel, sentence: str, speed: float) -> None:
    encoded = model.encode(next(model.read(sentence)), speed, ort.RunOptions())
    loud = np.flatnonzero(np.abs(wave(model, encoded, 10_000)) > AUDIBLE) // FRAME_SAMPLES
    frames = encoded.audible(speed)
    assert frames.start <= loud[0] - 1  # the 20 ms of the lead are there too
    assert loud[-1] < frames.stop
    if speed <= 1:
        assert len(frames) <= len(encoded.f0) - 10


def test_a_run_that_is_told_to_stop_raises(model: HibariModel, encoded: Encoded) -> None:
    options = ort.RunOptions()
    options.terminate = True
    with pytest.raises(OrtError):
        model.vocode(encoded, 0, 100, options)
    assert model.vocode(encoded, 0, 100, ort.RunOptions())


def test_what_the_package_fails_on_is_an_engine_error_without_the_text(
    model: HibariModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_text: str, **_how: bool) -> str:
        raise KeyError("secret")

    monkeypatch.setattr(model, "_g2p", fail)
    with pytest.raises(EngineError, match="cannot pronounce") as caught:
        list(model.read("A secret."))
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("what", "written", "spoken"),
    [
        ("numbers", "25", "twenty-five"),
        ("ordinals", "the 3rd one", "the third one"),
        ("decimals", "3.14", "three point one four"),
        ("fractions", "2/3", "two thirds"),
        ("percentages", "5%", "five percent"),
        ("years", "in 1984", "in nineteen eighty-four"),
        ("dates", "2024-03-05", "March fifth, twenty twenty-four"),
        ("times", "7:30 pm", "seven thirty P.M."),
        ("currency", "$25", "twenty-five dollars"),
        ("units", "10 km", "ten kilometers"),
        ("phone numbers", "555-1234", "5 5 5, 1 2 3 4"),
        ("roman numerals", "Henry VIII", "Henry the eighth"),
        ("abbreviations", "Dr. Smith", "Doctor Smith"),
        ("symbols", "a = b", "a equals b"),
    ],
)
def test_it_reads_what_it_says_it_reads(
    engine: HibariEngine, model: HibariModel, what: str, written: str, spoken: str
) -> None:
    unstressed = str.maketrans("", "", "ˈˌ ")
    assert what in engine.info.reads
    ways = [" ".join(model._phonemes(text)).translate(unstressed) for text in (written, spoken)]
    assert ways[0] == ways[1]
