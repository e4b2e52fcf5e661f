"""The states of a session and of its contexts, and what each client message does in them, as tables."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from antiphon.protocol.duplex.errors import ErrorCode


class SessionState(StrEnum):
    """Where a session is."""

    AWAITING_CONFIG = "awaiting_config"
    OPEN = "open"
    DRAINING = "draining"
    CLOSING = "closing"
    CLOSED = "closed"


class ContextState(StrEnum):
    """Where a context is.

    `UNKNOWN`: never opened, or over for so long that its id is forgotten. `OPEN`: takes text. `DONE`: its text is
    complete; it is being spoken or waits for its turn. `OVER`: spoken, cancelled or failed.
    """

    UNKNOWN = "unknown"
    OPEN = "open"
    DONE = "done"
    OVER = "over"


class MessageKind(StrEnum):
    """What a client can send."""

    CONFIG = "session.config"
    TEXT = "input.text"
    TEXT_WITH_OPTIONS = "input.text with voice, language or speed"
    FLUSH = "input.flush"
    DONE = "input.done"
    CANCEL = "input.cancel"
    PING = "ping"
    CLOSE = "session.close"
    FAULTY = "anything else"


class Action(StrEnum):
    """What the session does about a message."""

    APPLY_CONFIG = "apply the config"
    TO_CONTEXT = "see the context"
    PONG = "pong"
    FINISH = "close when what is done has been spoken"
    REPORT = "error"
    REQUIRE_CONFIG = "error config_required"
    IGNORE = "nothing"


class ContextAction(StrEnum):
    """What the session does about a message to a context."""

    OPEN = "open, feed"
    FEED = "feed"
    FLUSH = "flush"
    COMPLETE = "flush, then end"
    CANCEL = "cancel"
    REFUSE = "error"
    IGNORE = "nothing"


@dataclass(frozen=True, slots=True)
class ContextTransition:
    """One cell of the table of contexts.

    Attributes:
        action: what is done.
        leads_to: the states it may end in; where there are two, the second one is that of a refused message.
        code: of the error, when the action is `ContextAction.REFUSE`.
    """

    action: ContextAction
    leads_to: tuple[ContextState, ...]
    code: ErrorCode | None = None


CONTEXT_MESSAGES = frozenset(
    {
        MessageKind.TEXT,
        MessageKind.TEXT_WITH_OPTIONS,
        MessageKind.FLUSH,
        MessageKind.DONE,
        MessageKind.CANCEL,
    }
)

_OPEN_ROW = dict.fromkeys(CONTEXT_MESSAGES, Action.TO_CONTEXT) | {
    MessageKind.CONFIG: Action.APPLY_CONFIG,
    MessageKind.PING: Action.PONG,
    MessageKind.CLOSE: Action.FINISH,
    MessageKind.FAULTY: Action.REPORT,
}
_ROWS: Mapping[SessionState, Mapping[MessageKind, Action]] = {
    SessionState.AWAITING_CONFIG: _OPEN_ROW | dict.fromkeys(CONTEXT_MESSAGES, Action.REQUIRE_CONFIG),
    SessionState.OPEN: _OPEN_ROW,
    SessionState.DRAINING: _OPEN_ROW,
    SessionState.CLOSING: dict.fromkeys(MessageKind, Action.IGNORE)
    | {MessageKind.CANCEL: Action.TO_CONTEXT, MessageKind.PING: Action.PONG},
}

SESSION_ACTIONS: Mapping[tuple[SessionState, MessageKind], Action] = MappingProxyType(
    {(state, kind): row[kind] for state, row in _ROWS.items() for kind in MessageKind}
)
"""When closed, messages are ignored: that state has no row."""


def _stays(state: ContextState, action: ContextAction, code: ErrorCode | None = None) -> ContextTransition:
    return ContextTransition(action, (state,), code)


_OPENS = ContextTransition(ContextAction.OPEN, (ContextState.OPEN, ContextState.UNKNOWN))
_CANCELS = ContextTransition(ContextAction.CANCEL, (ContextState.OVER,))
_UNKNOWN = _stays(ContextState.UNKNOWN, ContextAction.REFUSE, ErrorCode.UNKNOWN_CONTEXT)
_COMPLETE = _stays(ContextState.DONE, ContextAction.REFUSE, ErrorCode.CONTEXT_DONE)
_DEAD = _stays(ContextState.OVER, ContextAction.IGNORE)

CONTEXT_TRANSITIONS: Mapping[tuple[ContextState, MessageKind], ContextTransition] = MappingProxyType(
    {
        (ContextState.UNKNOWN, MessageKind.TEXT): _OPENS,
        (ContextState.UNKNOWN, MessageKind.TEXT_WITH_OPTIONS): _OPENS,
        (ContextState.UNKNOWN, MessageKind.FLUSH): _UNKNOWN,
        (ContextState.UNKNOWN, MessageKind.DONE): _UNKNOWN,
        (ContextState.UNKNOWN, MessageKind.CANCEL): _UNKNOWN,
        (ContextState.OPEN, MessageKind.TEXT): _stays(ContextState.OPEN, ContextAction.FEED),
        (ContextState.OPEN, MessageKind.TEXT_WITH_OPTIONS): _stays(
            ContextState.OPEN, ContextAction.REFUSE, ErrorCode.CONTEXT_OPTIONS
        ),
        (ContextState.OPEN, MessageKind.FLUSH): _stays(ContextState.OPEN, ContextAction.FLUSH),
        (ContextState.OPEN, MessageKind.DONE): ContextTransition(ContextAction.COMPLETE, (ContextState.DONE,)),
        (ContextState.OPEN, MessageKind.CANCEL): _CANCELS,
        (ContextState.DONE, MessageKind.TEXT): _COMPLETE,
        (ContextState.DONE, MessageKind.TEXT_WITH_OPTIONS): _COMPLETE,
        (ContextState.DONE, MessageKind.FLUSH): _COMPLETE,
        (ContextState.DONE, MessageKind.DONE): _stays(ContextState.DONE, ContextAction.IGNORE),
        (ContextState.DONE, MessageKind.CANCEL): _CANCELS,
        (ContextState.OVER, MessageKind.TEXT): _DEAD,
        (ContextState.OVER, MessageKind.TEXT_WITH_OPTIONS): _stays(
            ContextState.OVER, ContextAction.REFUSE, ErrorCode.CONTEXT_REUSED
        ),
        (ContextState.OVER, MessageKind.FLUSH): _DEAD,
        (ContextState.OVER, MessageKind.DONE): _DEAD,
        (ContextState.OVER, MessageKind.CANCEL): _DEAD,
    }
)


@dataclass(frozen=True, slots=True)
class OtherTransition:
    """A change of a context's state that no message to it causes."""

    source: ContextState
    trigger: str
    target: ContextState


OTHER_TRANSITIONS = (
    OtherTransition(ContextState.DONE, "everything has been spoken: session.done", ContextState.OVER),
    OtherTransition(ContextState.OPEN, "error capacity or invalid_request, or session.close", ContextState.OVER),
    OtherTransition(ContextState.DONE, "error capacity or invalid_request", ContextState.OVER),
    OtherTransition(ContextState.OVER, "1,024 later ones are over", ContextState.UNKNOWN),
)
