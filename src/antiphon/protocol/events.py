"""What the session machine is told (events) and what it asks for (effects)."""

from dataclasses import dataclass

from antiphon.protocol.messages import ServerMessage
from antiphon.protocol.session_config import Granularity, SessionConfig

# Events: from the socket and the clock.


@dataclass(frozen=True, slots=True)
class Received:
    """A frame arrived: str for a text frame, bytes for a binary one."""

    data: str | bytes


@dataclass(frozen=True, slots=True)
class Disconnected:
    """The client is gone, with or without a close frame. Overtakes everything that waits."""


@dataclass(frozen=True, slots=True)
class TimePassed:
    """`next_deadline` may have been reached; too early does no harm."""


@dataclass(frozen=True, slots=True)
class OutputSent:
    """Everything that was to be sent so far has been taken by the socket; the idle timer starts anew."""


@dataclass(frozen=True, slots=True)
class Shutdown:
    """The server is about to end: close as soon as no utterance is cut off by it."""


@dataclass(frozen=True, slots=True)
class CutOff:
    """The server ends now: close at once, whatever is being spoken. Overtakes everything that waits."""


# Events: from the splitter, in answer to `Feed` and `Flush`.


@dataclass(frozen=True, slots=True)
class UnitReady:
    """A unit is complete.

    Attributes:
        text: what to speak; not empty.
        start: where it begins in the input since the last flush, in code points.
        end: where it ends there.
    """

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Flushed:
    """The splitter is empty: every unit of the flush has been given."""


# Events: from synthesis, all about the unit now playing.


@dataclass(frozen=True, slots=True)
class AudioChunk:
    """Audio in the wire format: streamed PCM of any length (0 included), or one whole file per unit."""

    data: bytes


@dataclass(frozen=True, slots=True)
class UnitCompleted:
    """All audio of the unit has been given."""


@dataclass(frozen=True, slots=True)
class UnitFailed:
    """The unit cannot be spoken (further).

    Attributes:
        message: for the client.
        fatal: the engine is lost, no later unit can be spoken either; the session ends.
    """

    message: str
    fatal: bool = False


type Event = (
    Received
    | Disconnected
    | TimePassed
    | OutputSent
    | Shutdown
    | CutOff
    | UnitReady
    | Flushed
    | AudioChunk
    | UnitCompleted
    | UnitFailed
)

# Effects: for the splitter. To be answered at once, before any other event is delivered.


@dataclass(frozen=True, slots=True)
class ConfigureSplitter:
    """Start afresh with this granularity."""

    granularity: Granularity


@dataclass(frozen=True, slots=True)
class Feed:
    """Add text; answer with the `UnitReady` that it completes."""

    text: str


@dataclass(frozen=True, slots=True)
class Flush:
    """Answer with a `UnitReady` for what is left, then `Flushed`."""


# Effects: for synthesis.


@dataclass(frozen=True, slots=True)
class Prepare:
    """A unit plays or comes soon after the one that does, and may be synthesised ahead of its turn.

    Attributes:
        unit_id: counts from 0 over the whole session.
        text: what to speak.
        config: the one in force when the text arrived.
    """

    unit_id: int
    text: str
    config: SessionConfig


@dataclass(frozen=True, slots=True)
class Play:
    """The unit's turn has come: deliver its `AudioChunk`s, then `UnitCompleted` or `UnitFailed`."""

    unit_id: int


@dataclass(frozen=True, slots=True)
class Abort:
    """Drop every unit, prepared and playing; deliver nothing more of them."""


# Effects: for the socket.


@dataclass(frozen=True, slots=True)
class Send:
    """Send a text frame with this message's JSON."""

    message: ServerMessage


@dataclass(frozen=True, slots=True)
class SendAudio:
    """Send a binary frame, also an empty one."""

    data: bytes


@dataclass(frozen=True, slots=True)
class CloseConnection:
    """Send a close frame and end. Nothing follows.

    Attributes:
        code: of RFC 6455 §7.4.
        reason: at most 123 bytes of UTF-8, as a close frame can hold.
    """

    code: int
    reason: str


type Effect = ConfigureSplitter | Feed | Flush | Prepare | Play | Abort | Send | SendAudio | CloseConnection
