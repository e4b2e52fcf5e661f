"""The states of a session and what each client message does in them, as a table."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType


class State(StrEnum):
    """Where a session is. It depends on the order of the client's messages alone, not on what has been spoken."""

    AWAITING_CONFIG = "awaiting_config"
    IDLE = "idle"
    UTTERANCE = "utterance"
    CLOSING = "closing"
    CLOSED = "closed"


class MessageKind(StrEnum):
    """What a client can send."""

    CONFIG = "session.config"
    TEXT = "input.text"
    DONE = "input.done"
    CLOSE = "session.close"
    UNKNOWN = "unknown type"
    MALFORMED = "malformed"
    BINARY = "binary frame"


class Action(StrEnum):
    """What the session does about a message."""

    APPLY_CONFIG = "apply config"
    REFUSE_CONFIG = "refuse config"
    FEED = "feed splitter"
    FLUSH = "flush splitter"
    FINISH = "close after output"
    REPORT = "report error"
    REJECT_START = "report error, close"
    REJECT_BINARY = "report error, close 1003"


@dataclass(frozen=True, slots=True)
class Transition:
    """One cell of the table.

    Attributes:
        action: what is done.
        leads_to: the states it may end in; which one, the message's content decides.
    """

    action: Action
    leads_to: tuple[State, ...]


_FINISH = Transition(Action.FINISH, (State.CLOSING,))
_FLUSH = Transition(Action.FLUSH, (State.IDLE,))
_REJECT_START = Transition(Action.REJECT_START, (State.CLOSING,))
_REJECT_BINARY = Transition(Action.REJECT_BINARY, (State.CLOSING,))

TRANSITIONS: Mapping[tuple[State, MessageKind], Transition] = MappingProxyType(
    {
        (State.AWAITING_CONFIG, MessageKind.CONFIG): Transition(Action.APPLY_CONFIG, (State.IDLE, State.CLOSING)),
        (State.AWAITING_CONFIG, MessageKind.TEXT): _REJECT_START,
        (State.AWAITING_CONFIG, MessageKind.DONE): _REJECT_START,
        (State.AWAITING_CONFIG, MessageKind.CLOSE): _REJECT_START,
        (State.AWAITING_CONFIG, MessageKind.UNKNOWN): _REJECT_START,
        (State.AWAITING_CONFIG, MessageKind.MALFORMED): _REJECT_START,
        (State.AWAITING_CONFIG, MessageKind.BINARY): _REJECT_BINARY,
        (State.IDLE, MessageKind.CONFIG): Transition(Action.APPLY_CONFIG, (State.IDLE,)),
        (State.IDLE, MessageKind.TEXT): Transition(Action.FEED, (State.UTTERANCE, State.IDLE)),
        (State.IDLE, MessageKind.DONE): _FLUSH,
        (State.IDLE, MessageKind.CLOSE): _FINISH,
        (State.IDLE, MessageKind.UNKNOWN): Transition(Action.REPORT, (State.IDLE,)),
        (State.IDLE, MessageKind.MALFORMED): Transition(Action.REPORT, (State.IDLE,)),
        (State.IDLE, MessageKind.BINARY): _REJECT_BINARY,
        (State.UTTERANCE, MessageKind.CONFIG): Transition(Action.REFUSE_CONFIG, (State.UTTERANCE,)),
        (State.UTTERANCE, MessageKind.TEXT): Transition(Action.FEED, (State.UTTERANCE,)),
        (State.UTTERANCE, MessageKind.DONE): _FLUSH,
        (State.UTTERANCE, MessageKind.CLOSE): _FINISH,
        (State.UTTERANCE, MessageKind.UNKNOWN): Transition(Action.REPORT, (State.UTTERANCE,)),
        (State.UTTERANCE, MessageKind.MALFORMED): Transition(Action.REPORT, (State.UTTERANCE,)),
        (State.UTTERANCE, MessageKind.BINARY): _REJECT_BINARY,
    }
)
"""While closing and when closed, messages are ignored: those states have no row."""


@dataclass(frozen=True, slots=True)
class OtherTransition:
    """A change of state that no message causes."""

    source: State
    trigger: str
    target: State


OTHER_TRANSITIONS = (
    OtherTransition(State.AWAITING_CONFIG, "config timeout", State.CLOSED),
    OtherTransition(State.IDLE, "idle timeout", State.CLOSED),
    OtherTransition(State.UTTERANCE, "idle timeout", State.CLOSED),
    OtherTransition(State.AWAITING_CONFIG, "shutdown", State.CLOSING),
    OtherTransition(State.IDLE, "shutdown", State.CLOSING),
    OtherTransition(State.IDLE, "invalid speech request", State.CLOSING),
    OtherTransition(State.UTTERANCE, "invalid speech request", State.CLOSING),
    OtherTransition(State.IDLE, "fatal failure", State.CLOSED),
    OtherTransition(State.UTTERANCE, "fatal failure", State.CLOSED),
    OtherTransition(State.CLOSING, "end of output, or fatal failure", State.CLOSED),
)
"""And from every state, a disconnect leads to `State.CLOSED`, as does a server that ends and cannot wait."""
