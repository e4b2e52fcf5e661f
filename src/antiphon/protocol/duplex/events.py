"""What the session machine of ``antiphon/1`` is told (events) and what it asks for (effects).

Units are named by a number that counts over the whole session, contexts by the id that the client chose.
"""

from dataclasses import dataclass

from antiphon.protocol.duplex.messages import DuplexConfig, ServerMessage

# Events: from the socket and the clock.


@dataclass(frozen=True, slots=True)
class Received:
    """A frame arrived: str for a text frame, bytes for a binary one. Delivered at once, whatever is being spoken."""

    data: str | bytes


@dataclass(frozen=True, slots=True)
class Disconnected:
    """The client is gone."""


@dataclass(frozen=True, slots=True)
class TimePassed:
    """`next_deadline` may have been reached; too early does no harm."""


@dataclass(frozen=True, slots=True)
class OutputSent:
    """The socket has taken everything that was to be sent; the idle timer starts anew."""


@dataclass(frozen=True, slots=True)
class Shutdown:
    """The server is about to end: take no new context, and close when those there are have been spoken."""


@dataclass(frozen=True, slots=True)
class CutOff:
    """The server ends now."""


# Events: from the segmenter of a context, in answer to `Feed`, `Flush` and `Poll`, before any other event.


@dataclass(frozen=True, slots=True)
class UnitReady:
    """A unit is complete.

    Attributes:
        text: what to speak; not empty.
        start: where it begins in the context's input, in code points.
        end: where it ends there.
        speakable: whether there is anything in it to be heard; one that is not has an `AudioStart` and
            an `AudioDone` and is not synthesised.
    """

    context_id: str
    text: str
    start: int
    end: int
    speakable: bool = True


@dataclass(frozen=True, slots=True)
class Flushed:
    """The context's segmenter is empty."""

    context_id: str


@dataclass(frozen=True, slots=True)
class SegmenterDeadline:
    """When the context's segmenter wants `Poll`; None for never. Told after each answer."""

    context_id: str
    at: float | None


# Events: from synthesis, about the unit that is playing. One of another unit is ignored: it crossed a cancel.


@dataclass(frozen=True, slots=True)
class AudioChunk:
    """Audio of a unit: s16le PCM, one binary frame; one without a byte is ignored.

    It counts as sent. A driver that gives more than the socket takes must itself take what it drops when a context is
    cancelled off `AudioCancelled.audio_samples_sent`.
    """

    unit_id: int
    data: bytes


@dataclass(frozen=True, slots=True)
class UnitCompleted:
    """All audio of the unit has been given.

    Attributes:
        synthesis_s: that it took.
        first_chunk_s: from when it could be worked on to its first chunk; None when there was none.
    """

    unit_id: int
    synthesis_s: float = 0.0
    first_chunk_s: float | None = None


@dataclass(frozen=True, slots=True)
class UnitRefused:
    """No capacity: the unit's context may not speak."""

    unit_id: int
    message: str


@dataclass(frozen=True, slots=True)
class UnitFailed:
    """The unit cannot be spoken (further).

    Attributes:
        fatal: the engine is lost.
        invalid: the request was wrong, so that every unit of its context would fail.
    """

    unit_id: int
    message: str
    fatal: bool = False
    invalid: bool = False


type Event = (
    Received
    | Disconnected
    | TimePassed
    | OutputSent
    | Shutdown
    | CutOff
    | UnitReady
    | Flushed
    | SegmenterDeadline
    | AudioChunk
    | UnitCompleted
    | UnitRefused
    | UnitFailed
)

# Effects: for the segmenters, answered at once.


@dataclass(frozen=True, slots=True)
class OpenContext:
    """Make a segmenter for a context; `config` has the context's own voice, language and speed."""

    context_id: str
    config: DuplexConfig


@dataclass(frozen=True, slots=True)
class Feed:
    """Add text."""

    context_id: str
    text: str


@dataclass(frozen=True, slots=True)
class Poll:
    """Cut what has waited long enough."""

    context_id: str


@dataclass(frozen=True, slots=True)
class Flush:
    """Give what is left, then `Flushed`."""

    context_id: str


@dataclass(frozen=True, slots=True)
class CloseContext:
    """The context is over: forget its segmenter, drop its units, prepared and playing, and what of it waits to be sent.

    What waits to be sent is dropped only when it was cancelled.
    """

    context_id: str
    cancelled: bool


# Effects: for synthesis.


@dataclass(frozen=True, slots=True)
class Prepare:
    """A unit plays or comes soon, and may be synthesised ahead of its turn."""

    unit_id: int
    context_id: str
    text: str
    config: DuplexConfig


@dataclass(frozen=True, slots=True)
class Play:
    """The unit's turn has come: deliver its `AudioChunk`s, then how it ended."""

    unit_id: int


@dataclass(frozen=True, slots=True)
class Abort:
    """Drop everything."""


# Effects: for the socket.


@dataclass(frozen=True, slots=True)
class Send:
    """Send a text frame.

    Attributes:
        context_id: of the living context whose it is, so that a cancel can drop it before it is sent; None for one that
            is always sent.
        urgent: goes before everything that waits.
    """

    message: ServerMessage
    context_id: str | None = None
    urgent: bool = False


@dataclass(frozen=True, slots=True)
class SendAudio:
    """Send a binary frame."""

    context_id: str
    data: bytes


@dataclass(frozen=True, slots=True)
class CloseConnection:
    """Send a close frame and end; nothing follows.

    Attributes:
        code: of RFC 6455 §7.4.
        reason: at most 123 bytes of UTF-8.
    """

    code: int
    reason: str


type Effect = (
    OpenContext | Feed | Poll | Flush | CloseContext | Prepare | Play | Abort | Send | SendAudio | CloseConnection
)
