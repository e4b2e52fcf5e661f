"""A local SageMaker as a whole, and what becomes of the servers that it started."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from antiphon.emulator.endpoints import EndpointSpec
from antiphon.emulator.event_log import read_events
from antiphon.emulator.local import local_sagemaker
from antiphon.emulator.settings import EmulatorSettings
from antiphon.emulator.state import StateFolder

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(("status", "how"), [(-9, "killed by signal 9, "), (3, "exit status 3")])
async def test_a_server_that_ends_is_told_of_unless_all_are_to_end(tmp_path: Path, status: int, how: str) -> None:
    told: list[str] = []
    ends: dict[str, Callable[[int], None]] = {}

    @asynccontextmanager
    async def launch(spec: EndpointSpec, ended: Callable[[int], None]) -> AsyncIterator[str]:
        ends[spec.name] = ended
        yield "http://127.0.0.1:9"
        # As with Ctrl-C, which servers get at the same time: one ends while the other one is being stopped.
        if spec.name == "b":
            ends["a"](0)

    folder = StateFolder(tmp_path)
    async with local_sagemaker(EmulatorSettings.load(None, ["a", "b"], port=0), folder, launch, told.append):
        ends["b"](status)
        run = folder.running()
        assert run is not None
        assert [(one.name, one.in_service) for one in run.endpoints] == [("a", True), ("b", False)]
    (sentence,) = told
    assert f"the server of endpoint b has ended ({how}" in sentence
    assert "antiphon emulate down, then antiphon emulate up" in sentence
    ended = [event for event in read_events(folder.events) if event["event"] == "container.ended"]
    assert [(event["endpoint"], event["status"]) for event in ended] == [("b", status)]
