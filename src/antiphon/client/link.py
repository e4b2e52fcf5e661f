"""What an utterance and that which carries it know of each other."""

from typing import Protocol

from antiphon.protocol.client_events import ClientEvent
from antiphon.protocol.messages import SessionConfig


class Sink(Protocol):
    """An utterance, as its link sees it."""

    @property
    def next_deadline(self) -> float | None:
        """When to call `poll`; None for not at all."""
        ...

    def poll(self, now: float) -> None:
        """Let time pass."""
        ...

    def deliver(self, event: ClientEvent, now: float) -> None:
        """Take an event."""
        ...

    def fail(self, error: Exception) -> None:
        """Take the end; nothing is delivered afterwards."""
        ...


class Link(Protocol):
    """What carries utterances to a server, as they see it: they are named by the numbers that `begin` returns."""

    def now(self) -> float:
        """The time in seconds, from the zero point that all times here have."""
        ...

    def begin(self, config: SessionConfig, sink: Sink) -> int:
        """Open an utterance and return its number.

        Raises:
            SpeechError: nothing more will be spoken here, or too many utterances are open.
        """
        ...

    def speak(self, utterance: int, text: str) -> int:
        """Add a unit to an open utterance and return the unit's number."""
        ...

    def finish(self, utterance: int) -> None:
        """No more units will come."""
        ...

    def abandon(self, utterance: int) -> None:
        """Deliver nothing more, send nothing more; harmless when it is over."""
        ...

    def rearm(self) -> None:
        """A sink's deadline has moved."""
        ...

    def unheard(self, size: int) -> None:
        """So many bytes wait for a listener (or, negative, were taken)."""
        ...

    @property
    def has_room(self) -> bool:
        """Whether text may be written."""
        ...

    async def wait_for_room(self) -> None:
        """Wait until text may be written, or never will be again."""
        ...
