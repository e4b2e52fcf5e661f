"""The generated parts of the protocol's text: `python -m antiphon.protocol.duplex.reference docs/protocol.md`."""

import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from antiphon.protocol.closing import CloseCause
from antiphon.protocol.duplex.errors import MEANINGS
from antiphon.protocol.duplex.messages import ClientMessage, ServerMessage, SessionLimits
from antiphon.protocol.duplex.schema import CLIENT_MESSAGES, SERVER_MESSAGES, field_texts, file_name, schema, summary
from antiphon.protocol.duplex.transitions import (
    CONTEXT_MESSAGES,
    CONTEXT_TRANSITIONS,
    OTHER_TRANSITIONS,
    SESSION_ACTIONS,
    ContextState,
    ContextTransition,
    MessageKind,
    SessionState,
)

_USED_CLOSINGS = (
    CloseCause.REQUESTED,
    CloseCause.IDLE,
    CloseCause.SHUTDOWN,
    CloseCause.CUT_OFF,
    CloseCause.NO_CONFIG,
    CloseCause.SYNTHESIS_LOST,
)
_SECTION = re.compile(r"(<!-- generated: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def client_messages() -> str:
    """What a client sends, message by message."""
    return "\n".join(_message(model) for model in CLIENT_MESSAGES)


def server_messages() -> str:
    """What a server sends, message by message."""
    return "\n".join(_message(model) for model in SERVER_MESSAGES)


def limits() -> str:
    """What a session may ask for, with the default values."""
    fields = SessionLimits().model_dump()
    rows = ((f"`{name}`", f"{fields[name]:,}", text) for name, text in field_texts(SessionLimits).items())
    return _table(("limit", "usually", "meaning"), rows)


def errors() -> str:
    """The codes."""
    rows = (
        (f"`{code}`", "yes" if meaning.retryable else "no", meaning.ends, meaning.when, meaning.remedy)
        for code, meaning in MEANINGS.items()
    )
    return _table(("code", "retryable", "ends", "when", "what to do"), rows)


def closings() -> str:
    """The close frames."""
    return _table(("code", "reason", "when"), ((str(each.code), each.reason, each.when) for each in _USED_CLOSINGS))


def session_table() -> str:
    """What each message does in each state of a session."""
    states = [state for state in SessionState if state is not SessionState.CLOSED]
    rows = ((f"`{kind}`", *(SESSION_ACTIONS[state, kind] for state in states)) for kind in _session_rows())
    return _table(("message", *states), rows)


def context_table() -> str:
    """What each message does in each state of a context."""
    kinds = [kind for kind in MessageKind if kind in CONTEXT_MESSAGES]
    rows = (
        (f"`{kind}`", *(_cell(state, CONTEXT_TRANSITIONS[state, kind]) for state in ContextState)) for kind in kinds
    )
    return _table(("message", *ContextState), rows)


def context_diagram() -> str:
    """The states of a context as a Mermaid diagram; messages that change nothing are left out."""
    edges: dict[tuple[ContextState, ContextState], list[str]] = {}
    for (source, kind), transition in CONTEXT_TRANSITIONS.items():
        target = transition.leads_to[0]
        if target is not source:
            edges.setdefault((source, target), []).append(kind)
    for other in OTHER_TRANSITIONS:
        edges.setdefault((other.source, other.target), []).append(other.trigger.replace(":", ","))
    lines = [f"    {source} --> {target}: {', '.join(triggers)}" for (source, target), triggers in edges.items()]
    return "\n".join(["```mermaid", "stateDiagram-v2", f"    [*] --> {ContextState.UNKNOWN}", *lines, "```\n"])


SECTIONS: Mapping[str, Callable[[], str]] = MappingProxyType(
    {
        "client_messages": client_messages,
        "server_messages": server_messages,
        "limits": limits,
        "errors": errors,
        "closings": closings,
        "session_table": session_table,
        "context_table": context_table,
        "context_diagram": context_diagram,
    }
)


def update(page: str) -> str:
    """Return the page with every generated part as the code has it."""
    return _SECTION.sub(lambda match: f"{match[1]}\n{SECTIONS[match[2]]()}\n{match[3]}", page)


def _session_rows() -> list[MessageKind]:
    return [kind for kind in MessageKind if kind is not MessageKind.TEXT_WITH_OPTIONS]  # as without them


def _cell(state: ContextState, transition: ContextTransition) -> str:
    action = str(transition.action) if transition.code is None else f"error `{transition.code}`"
    target = transition.leads_to[0]
    return action if target is state else f"{action} → {target}"


def _message(model: type[ClientMessage | ServerMessage]) -> str:
    body = schema(model)
    link = f"[schema](schemas/antiphon-1/{file_name(model)})"
    fields = {name: field for name, field in body["properties"].items() if name != "type"}
    rows = (
        (f"`{name}`", _type(field, name in body["required"]), field.get("description", ""))
        for name, field in fields.items()
    )
    table = _table(("field", "type", "meaning"), rows) if fields else ""
    return f"#### `{model.type}`\n\n{summary(model)} {link}\n\n{table}"


def _type(field: Mapping[str, Any], required: bool) -> str:
    words = _type_word(field)
    if "default" in field and not required:
        return f"{words}, default `{_json(field['default'])}`"
    return words if required else f"{words}, optional"


def _type_word(field: Mapping[str, Any]) -> str:
    if "const" in field:
        return f"`{_json(field['const'])}`"
    if "enum" in field:
        return " or ".join(f"`{_json(value)}`" for value in field["enum"])
    if "anyOf" in field:
        return " or ".join(_type_word(choice) for choice in field["anyOf"] if choice != {"type": "null"})
    if "$ref" in field:
        return str(field["$ref"]).rpartition("/")[2]
    bounds = [f"{sign} {field[key]:,}" for key, sign in (("minimum", "≥"), ("maximum", "≤")) if key in field]
    return ", ".join([field["type"], *bounds])


def _json(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else f'"{value}"' if isinstance(value, str) else str(value)


def _table(header: tuple[str, ...], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, tuple("---" for _ in header), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines) + "\n"


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.write_text(update(path.read_text(encoding="utf-8")), encoding="utf-8")
