import numpy as np
import pytest

from antiphon.audio.measures import Arrival, Playback, audible_span, gap_free, seam_step, worst_starvation_s
from antiphon.audio.pcm import from_float


def test_the_audible_span_of_a_sound_in_silence() -> None:
    samples = np.zeros(1000, np.float32)
    samples[300:400] = 0.1
    samples[500] = -0.1
    assert audible_span(from_float(samples)) == (300, 501)


@pytest.mark.parametrize("pcm", [b"", bytes(2000), from_float(np.full(10, 9e-4, np.float32))])
def test_silence_has_no_audible_span(pcm: bytes) -> None:
    assert audible_span(pcm) is None


def test_the_threshold_is_a_setting() -> None:
    assert audible_span(from_float(np.full(10, 0.1, np.float32)), threshold=0.2) is None


def test_a_chunk_plays_when_it_is_there_and_all_before_it_was_played() -> None:
    playback = Playback(buffer_s=0.5)
    starts = [playback.take(Arrival(time_s, 1.0)) for time_s in (10.0, 10.1, 14.0)]
    assert starts == [10.5, 11.5, 14.0]
    assert playback.worst_starvation_s == 1.5


def arrivals(*times_ms: float, duration_ms: float = 100) -> list[Arrival]:
    return [Arrival(time / 1000, duration_ms / 1000) for time in times_ms]


@pytest.mark.parametrize(
    ("chunks", "buffer_ms", "worst_ms"),
    [
        ([], 0, 0),
        (arrivals(5000), 0, 0),
        (arrivals(0, 100, 200), 0, 0),
        (arrivals(0, 170), 0, 70),
        (arrivals(0, 170), 50, 20),
        (arrivals(0, 170), 100, 0),
        (arrivals(0, 0, 0, 370), 0, 70),
        (arrivals(0, 170, 300), 0, 70),  # the first hole delays the rest, which then is in time
        (arrivals(0, 130, 330), 0, 100),
        (arrivals(0, 170, 171, 172, 600), 0, 130),
    ],
)
def test_known_starvations(chunks: list[Arrival], buffer_ms: float, worst_ms: float) -> None:
    assert worst_starvation_s(chunks, buffer_ms / 1000) * 1000 == pytest.approx(worst_ms)
    assert gap_free(chunks, buffer_ms / 1000) == (worst_ms == 0)


def sine(count: int, start: int = 0) -> np.ndarray[tuple[int], np.dtype[np.int16]]:
    return np.round(10_000 * np.sin(2 * np.pi * 440 / 24_000 * np.arange(start, start + count))).astype(np.int16)


def test_a_smooth_seam_has_no_step() -> None:
    assert seam_step(sine(2000), 1000) == 0


def test_a_seam_that_lost_samples_has_one() -> None:
    broken = np.concatenate([sine(1000), sine(1000, start=1027)])
    jump = abs(int(broken[1000]) - int(broken[999])) / 32768
    assert seam_step(broken, 1000) == pytest.approx(jump, rel=0.2)
    assert seam_step(broken, 1000) > 0.1


@pytest.mark.parametrize("seam", [1, 5, 1999])
def test_a_step_is_found_near_the_ends_too(seam: int) -> None:
    samples = np.zeros(2000, np.int16)
    samples[seam:] = 16384
    assert seam_step(samples, seam) == 0.5


def test_too_little_around_a_seam_says_nothing() -> None:
    assert seam_step(np.array([0, 9], np.int16), 1) == 0
