import numpy as np
import pytest

from antiphon.engines.contract import InvalidRequestError
from antiphon.engines.hibari.voices import ALIASES, VOICES, Timbre, timbre
from antiphon.engines.qwen3 import VOICES as QWEN_VOICES


def test_the_trained_voice_is_the_default_and_as_it_is() -> None:
    assert VOICES[0].name == "heart"
    assert timbre(None) == timbre("HEART") == Timbre(1.0, 1.0)


def test_the_others_are_marked_as_made_from_it() -> None:
    assert {voice.name: voice.derived_from for voice in VOICES} == {
        "heart": None,
        "heart-low": "heart",
        "heart-mid": "heart",
        "heart-high": "heart",
    }
    assert len({timbre(voice.name) for voice in VOICES}) == len(VOICES)


def test_every_voice_of_qwen3_is_an_alias() -> None:
    assert set(ALIASES) == set(QWEN_VOICES)
    assert timbre("Uncle_Fu") == timbre("heart-low")


def test_an_unknown_voice_is_answered_with_those_there_are() -> None:
    with pytest.raises(InvalidRequestError, match=r"no voice 'alloy'; it has heart, heart-low.*answers to aiden"):
        timbre("Alloy")


@pytest.mark.parametrize("factor", [0.87, 1.0, 1.05])
def test_formants_move_by_their_factor(factor: float) -> None:
    peak = np.exp(-(((np.arange(601) - 200) / 20.0) ** 2)).astype(np.float32)[:, None]
    moved = Timbre(formants=factor).envelope(peak)
    assert moved.shape == (601, 1)
    assert moved.dtype == np.float32
    assert int(np.argmax(moved)) == round(200 * factor)
