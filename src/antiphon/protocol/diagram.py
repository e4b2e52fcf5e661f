"""Draws the session's states as a page of documentation: `python -m antiphon.protocol.diagram`."""

import sys
from collections.abc import Iterator, Sequence

from antiphon.protocol.closing import CloseCause
from antiphon.protocol.transitions import OTHER_TRANSITIONS, TRANSITIONS, State

_INTRODUCTION = """\
# States of a speech session

Generated from the tables in `src/antiphon/protocol` by `python -m antiphon.protocol.diagram`.

The state depends on the order of the client's messages alone. What they cause, units of speech, replies and the
close, joins one queue and is sent in that order, so a session that is closing may speak for a while yet.
"""


def state_diagram() -> str:
    """The transitions as a Mermaid state diagram."""
    return "\n".join(["stateDiagram-v2", *(f"    {line}" for line in _diagram_lines())])


def page() -> str:
    """The whole page, in Markdown."""
    closings = [(str(cause.code), cause.reason, cause.when) for cause in CloseCause]
    sections = [
        _INTRODUCTION,
        f"```mermaid\n{state_diagram()}\n```\n",
        "## Close frames\n",
        _table(("code", "reason", "when"), closings),
    ]
    return "\n".join(sections)


def _diagram_lines() -> Iterator[str]:
    yield f"[*] --> {State.AWAITING_CONFIG}"
    edges: dict[tuple[State, State], list[str]] = {}
    for (source, kind), transition in TRANSITIONS.items():
        for target in transition.leads_to:
            edges.setdefault((source, target), []).append(kind)
    for other in OTHER_TRANSITIONS:
        edges.setdefault((other.source, other.target), []).append(other.trigger)
    for (source, target), triggers in edges.items():
        yield f"{source} --> {target}: {', '.join(triggers)}"
    yield f"{State.CLOSED} --> [*]"


def _table(header: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [header, tuple("---" for _ in header), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(page())
