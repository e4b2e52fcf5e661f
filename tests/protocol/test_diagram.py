"""The table of transitions, and the page drawn from it."""

from pathlib import Path

from antiphon.protocol import CloseCause, State
from antiphon.protocol.diagram import page, state_diagram
from antiphon.protocol.transitions import OTHER_TRANSITIONS, TRANSITIONS, MessageKind

PAGE = Path(__file__).parents[2] / "docs" / "protocol-states.md"


def test_every_message_has_a_cell_in_every_state_that_listens() -> None:
    listening = set(State) - {State.CLOSING, State.CLOSED}
    assert set(TRANSITIONS) == {(state, kind) for state in listening for kind in MessageKind}


def test_every_state_can_be_reached_and_left() -> None:
    edges = {(source, target) for (source, _), cell in TRANSITIONS.items() for target in cell.leads_to}
    edges |= {(other.source, other.target) for other in OTHER_TRANSITIONS}
    assert {target for source, target in edges if source is not target} == set(State) - {State.AWAITING_CONFIG}
    assert {source for source, target in edges if source is not target} == set(State) - {State.CLOSED}


def test_the_diagram_shows_every_edge_once() -> None:
    lines = state_diagram().splitlines()
    assert lines[0] == "stateDiagram-v2"
    assert "    utterance --> idle: input.done" in lines
    assert "    idle --> utterance: input.text" in lines
    assert len({line.partition(":")[0] for line in lines}) == len(lines)


def test_the_page_lists_every_close_frame() -> None:
    rows = [line for line in page().splitlines() if line.startswith("| ")]
    assert len(rows) == len(CloseCause) + 2
    assert {line.count(" | ") for line in rows} == {2}


def test_the_documentation_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), (
        "run: python -m antiphon.protocol.diagram > docs/protocol-states.md"
    )
