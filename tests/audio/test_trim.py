import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from antiphon.audio.measures import audible_span, seam_step
from antiphon.audio.pcm import from_float
from antiphon.audio.trim import SilenceTrimmer

RATE = 1000  # fades are 5 samples
LEAD, TAIL = 20, 180


def sentence(before: int, after: int, *, pause: int = 0) -> NDArray[np.float32]:
    loud = np.full(50, 0.5, np.float32)
    quiet = [np.zeros(count, np.float32) for count in (before, pause, after)]
    return np.concatenate([quiet[0], loud, quiet[1], loud, quiet[2]])


def trimmed(samples: NDArray[np.float32], sizes: list[int] | None = None, *, tail: int = TAIL) -> NDArray[np.float32]:
    trimmer = SilenceTrimmer(LEAD, tail, RATE)
    parts = [trimmer.push(part) for part in np.split(samples, np.cumsum(sizes or [0]))]
    return np.concatenate([*parts, trimmer.finish()])


@pytest.mark.parametrize(("before", "after"), [(300, 440), (20, 180), (0, 0), (5, 17)])
def test_lead_and_tail_are_exact_whatever_there_was(before: int, after: int) -> None:
    expected = np.concatenate([np.zeros(LEAD), np.full(100, 0.5), np.zeros(TAIL)])
    np.testing.assert_array_equal(trimmed(sentence(before, after)), expected)


def test_what_is_measured_after_conversion_is_what_was_cut_by() -> None:
    swelling = np.linspace(0, 0.01, 5000, dtype=np.float32)
    span = audible_span(from_float(trimmed(np.concatenate([swelling, swelling[::-1]]))))
    assert span
    assert span[0] == LEAD


def test_silence_inside_a_sentence_stays() -> None:
    assert len(trimmed(sentence(300, 440, pause=400))) == LEAD + 100 + 400 + TAIL


def test_a_silent_sentence_gives_nothing() -> None:
    assert len(trimmed(np.zeros(1000, np.float32))) == 0
    assert len(SilenceTrimmer(LEAD, TAIL, RATE).finish()) == 0


@given(
    sizes=st.lists(st.integers(0, 300), max_size=8),
    before=st.integers(0, 400),
    pause=st.integers(0, 400),
    after=st.integers(0, 400),
    tail=st.integers(0, 200),
)
def test_how_the_sentence_was_cut_does_not_matter(
    sizes: list[int], before: int, pause: int, after: int, tail: int
) -> None:
    samples = sentence(before, after, pause=pause)
    np.testing.assert_array_equal(trimmed(samples, sizes, tail=tail), trimmed(samples, tail=tail))


def test_sound_is_let_through_at_once() -> None:
    trimmer = SilenceTrimmer(LEAD, TAIL, RATE)
    assert len(trimmer.push(np.zeros(100, np.float32))) == 0
    assert len(trimmer.push(np.full(10, 0.5, np.float32))) == LEAD + 10


def test_only_the_fade_of_a_tail_is_held_back() -> None:
    trimmer = SilenceTrimmer(LEAD, TAIL, RATE)
    trimmer.push(np.full(10, 0.5, np.float32))
    assert len(trimmer.push(np.zeros(1000, np.float32))) == TAIL - 5
    assert len(trimmer.finish()) == 5


def test_the_cuts_do_not_click() -> None:
    hum = np.float32(9e-4) * np.ones(1000, np.float32)  # just below what counts as sound
    samples = np.concatenate([hum, np.full(50, 0.5, np.float32), hum])
    out = np.concatenate([np.zeros(100, np.float32), trimmed(samples), np.zeros(100, np.float32)])
    wave = np.frombuffer(from_float(out), dtype="<i2")
    assert seam_step(wave, 100) == 0
    assert seam_step(wave, len(wave) - 100) <= 6 / 32768
