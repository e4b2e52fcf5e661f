import itertools

from hypothesis import given
from hypothesis import strategies as st

from antiphon.audio.measures import Arrival, worst_starvation_s
from antiphon.audio.ramp import chunk_sizes


def test_it_grows_as_fast_as_the_real_time_factor_allows() -> None:
    assert list(itertools.islice(chunk_sizes(10, 1000, 0.5), 5)) == [10, 20, 40, 80, 160]
    assert list(itertools.islice(chunk_sizes(8, 64, 0.25), 4)) == [8, 32, 64, 64]


def test_it_does_not_grow_when_the_engine_is_slower_than_speech() -> None:
    assert set(itertools.islice(chunk_sizes(10, 1000, 1.5), 20)) == {10}


@given(first=st.integers(1, 100), extra=st.integers(0, 1000), rtf=st.floats(0.01, 0.99))
def test_a_player_that_starts_with_the_first_chunk_never_starves(first: int, extra: int, rtf: float) -> None:
    now, arrivals = 0.0, []
    for size in itertools.islice(chunk_sizes(first, first + extra, rtf), 30):
        now += rtf * size
        arrivals.append(Arrival(now, size))
    # A chunk of the first size is the least there can be, and may itself be more than the first lead pays for.
    assert worst_starvation_s(arrivals) <= 1e-9


@given(first=st.integers(1, 100), extra=st.integers(0, 1000), rtf=st.floats(0.01, 2))
def test_sizes_stay_between_first_and_limit(first: int, extra: int, rtf: float) -> None:
    sizes = list(itertools.islice(chunk_sizes(first, first + extra, rtf), 30))
    assert min(sizes) == sizes[0] == first
    assert max(sizes) <= first + extra
