"""The package's own function, given the same noise, is the reference."""

import itertools

import hibari.dsp
import numpy as np
import onnxruntime as ort
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antiphon.audio.pcm import from_float
from antiphon.engines.hibari.dsp import BINS, FRAME_SAMPLES, LOOKAHEAD, Floats, FrameSynthesizer, Spectra
from antiphon.engines.hibari.model import Encoded, HibariModel
from antiphon.engines.hibari.noise import FrameNoise


class SameNoise:
    """A generator that gives the package the noise that ours gives, in the layout that it asks for."""

    def standard_normal(self, shape: tuple[int, int], dtype: type) -> Floats:
        noise = FrameNoise(5, BINS).take(shape[1] // 2)
        return np.ascontiguousarray(noise).view(np.float32).reshape(shape).astype(dtype)


@pytest.fixture(scope="session")
def spectra(model: HibariModel, encoded: Encoded) -> Spectra:
    return model.vocode(encoded, 0, len(encoded.f0), ort.RunOptions())


@pytest.fixture(scope="session")
def reference(spectra: Spectra, encoded: Encoded) -> Floats:
    samples: Floats = hibari.dsp.synth(*spectra, encoded.f0, SameNoise())
    return samples


def in_pieces(spectra: Spectra, f0: Floats, cuts: list[int]) -> list[Floats]:
    synthesizer = FrameSynthesizer(f0, FrameNoise(5, BINS))
    edges = [0, *sorted(cuts), len(f0)]
    return [
        synthesizer.push((lh[:, a:b], theta[:, a:b], ln[:, a:b], lr[:, a:b], phi[:, a:b]))
        for lh, theta, ln, lr, phi in [spectra]
        for a, b in itertools.pairwise(edges)
        if a < b
    ]


def int16(samples: Floats) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    return np.frombuffer(from_float(samples), dtype="<i2").astype(np.int32)


def test_all_at_once_equals_the_package(spectra: Spectra, encoded: Encoded, reference: Floats) -> None:
    (samples,) = in_pieces(spectra, encoded.f0, [])
    assert np.abs(reference).max() > 0.1
    np.testing.assert_allclose(samples, reference, atol=3e-6)


@settings(max_examples=25, deadline=None)
@given(cuts=st.lists(st.integers(1, 250), max_size=12))
def test_any_chunking_equals_the_package_within_one_lsb(
    spectra: Spectra, encoded: Encoded, reference: Floats, cuts: list[int]
) -> None:
    samples = np.concatenate(in_pieces(spectra, encoded.f0, cuts))
    assert np.abs(int16(samples) - int16(reference)).max() <= 1


def test_frame_by_frame_equals_the_package_within_one_lsb(
    spectra: Spectra, encoded: Encoded, reference: Floats
) -> None:
    samples = np.concatenate(in_pieces(spectra, encoded.f0, list(range(len(encoded.f0)))))
    assert np.abs(int16(samples) - int16(reference)).max() <= 1


@pytest.mark.parametrize("frames", [3, 4, 5, 9])
def test_a_few_frames_equal_the_package(spectra: Spectra, frames: int) -> None:
    few = tuple(values[:, 100 : 100 + frames] for values in spectra)
    f0 = np.linspace(100, 200, frames, dtype=np.float32)
    lh, theta, ln, lr, phi = few
    samples = np.concatenate(in_pieces((lh, theta, ln, lr, phi), f0, [1, 2]))
    np.testing.assert_allclose(samples, hibari.dsp.synth(*few, f0, SameNoise()), atol=3e-6)


def test_a_frame_is_complete_when_its_two_successors_are_in(spectra: Spectra, encoded: Encoded) -> None:
    sizes = [len(piece) // FRAME_SAMPLES for piece in in_pieces(spectra, encoded.f0, [8, 20])]
    assert sizes == [8 - LOOKAHEAD, 12, len(encoded.f0) - 20 + LOOKAHEAD]


@given(sizes=st.lists(st.integers(1, 50), min_size=1, max_size=6), seed=st.integers(0, 2**32))
def test_noise_does_not_depend_on_how_it_is_taken(sizes: list[int], seed: int) -> None:
    noise = FrameNoise(seed, 16)
    parts = np.concatenate([noise.take(size) for size in sizes], axis=1)
    np.testing.assert_array_equal(parts, FrameNoise(seed, 16).take(sum(sizes)))


def test_noise_is_white_and_of_unit_variance_and_new_in_every_frame() -> None:
    noise = FrameNoise(1, BINS).take(400)
    assert np.var(noise.real) == pytest.approx(1, rel=0.02)
    assert np.var(noise.imag) == pytest.approx(1, rel=0.02)
    correlation = np.abs(np.mean(noise[:, 1:] * noise[:, :-1].conj(), axis=0))
    assert correlation.max() < 0.3
