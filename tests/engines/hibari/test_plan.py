from hypothesis import given
from hypothesis import strategies as st

from antiphon.engines.hibari.dsp import LOOKAHEAD
from antiphon.engines.hibari.model import LEAD_FRAMES
from antiphon.engines.hibari.plan import CHUNK_FRAMES, FIRST_FRAMES, WINDOW_FRAMES, plan

OPENING = LEAD_FRAMES + FIRST_FRAMES + LOOKAHEAD


@given(start=st.integers(0, 50), count=st.integers(0, 2500), urgent=st.booleans())
def test_windows_and_chunks_tile_the_frames_within_their_bounds(start: int, count: int, urgent: bool) -> None:
    frames = range(start, start + count)
    windows = list(plan(frames, urgent))
    assert [frame for window, _ in windows for frame in window] == list(frames)
    assert [frame for _, chunks in windows for chunk in chunks for frame in chunk] == list(frames)
    assert all(len(window) < 1.5 * WINDOW_FRAMES for window, _ in windows)
    assert all(0 < len(chunk) < 1.5 * CHUNK_FRAMES for _, chunks in windows for chunk in chunks)


def test_a_waiting_listener_gets_a_small_window_of_its_own() -> None:
    (first, chunks), (second, _) = plan(range(20, 270), urgent=True)
    assert first == range(20, 20 + OPENING)
    assert chunks == [first]
    assert second == range(20 + OPENING, 270)


def test_nobody_waits_for_the_first_chunk_of_later_sentences() -> None:
    ((window, chunks),) = plan(range(250), urgent=False)
    assert window == range(250)
    assert len(chunks[0]) == CHUNK_FRAMES


def test_a_short_word_is_one_window() -> None:
    (windows,) = plan(range(3 * FIRST_FRAMES), urgent=True)
    assert windows[0] == range(3 * FIRST_FRAMES)
