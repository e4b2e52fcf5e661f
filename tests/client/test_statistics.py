from dataclasses import asdict

import pytest

from antiphon.client.statistics import Meter, Statistics

LOUD = b"\x00\x40"
SILENT = b"\0\0"


def test_every_time_counts_from_the_first_text() -> None:
    meter = Meter(connect_s=0.5)
    meter.wrote(0, now=90.0)  # an empty token is no text
    meter.wrote(5, now=100.0)
    meter.wrote(6, now=101.0)
    meter.wrote(7, now=102.0)
    meter.cut(11)  # the unit ends with the second token, however late it is cut
    meter.text_complete(now=103.0)
    meter.heard(SILENT * 400 + LOUD * 400, 8000, now=104.0)
    meter.heard(LOUD * 800, 8000, now=104.1)
    meter.unit_done(busy_s=0.05)

    expected = {
        "connect_s": 0.5,
        "first_unit_text_s": 1.0,
        "text_complete_s": 3.0,
        "first_chunk_s": 4.0,
        "first_audible_s": 4.05,
        "audio_complete_s": 4.1,
        "audio_s": 0.2,
        "sample_rate": 8000,
        "chunks": 2,
        "bytes": 3200,
        "characters": 18,
        "units": 1,
        "busy_s": 0.05,
        "worst_starvation_s": 0.0,
    }
    assert asdict(meter.read()) == pytest.approx(expected)
    assert meter.read().real_time_factor == pytest.approx(0.25)


def test_nothing_is_claimed_before_it_happened() -> None:
    figures = Meter(connect_s=0.0).read()

    assert figures == Statistics()
    assert figures.real_time_factor is None


def test_the_first_sound_may_be_in_a_later_chunk_and_waits_for_its_turn() -> None:
    meter = Meter(connect_s=0.0)
    meter.wrote(1, now=0.0)
    meter.heard(SILENT * 8000, 8000, now=1.0)
    meter.heard(SILENT * 80 + LOUD, 8000, now=1.1)

    assert meter.read().first_audible_s == pytest.approx(2.01)


def test_only_the_first_units_text_is_timed() -> None:
    meter = Meter(connect_s=0.0)
    meter.wrote(4, now=0.0)
    meter.cut(4)
    meter.wrote(4, now=5.0)
    meter.cut(8)

    assert meter.read().first_unit_text_s == 0.0


def test_starvation_is_that_of_a_player_that_began_with_the_first_chunk() -> None:
    meter = Meter(connect_s=0.0)
    for now in (1.0, 1.1, 1.45):
        meter.heard(LOUD * 800, 8000, now)

    assert meter.read().worst_starvation_s == pytest.approx(0.25)
