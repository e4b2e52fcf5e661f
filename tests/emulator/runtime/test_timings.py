"""How long things may take."""

from dataclasses import asdict

import pytest

from antiphon.emulator.runtime.timings import Timings


def test_the_times_are_those_that_sagemaker_publishes() -> None:
    timings = Timings()
    assert (timings.ping_interval_s, timings.missed_pongs, timings.max_stream_s) == (60, 5, 1800)
    assert (timings.invoke_timeout_s, timings.response_stream_timeout_s) == (60, 480)


def test_scaling_is_for_the_services_times_alone() -> None:
    before, after = asdict(Timings()), asdict(Timings().scaled(0.01))
    scaled = {name for name in before if before[name] != after[name]}
    assert scaled == {"ping_interval_s", "max_stream_s", "drain_s", "invoke_timeout_s", "response_stream_timeout_s"}
    assert after["max_stream_s"] == pytest.approx(18)
