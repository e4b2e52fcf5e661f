"""What the runtime needs of others: where endpoints are, and where events go."""

from typing import Protocol

Field = str | int | float | bool | None


class Backend(Protocol):
    """The container behind an endpoint."""

    @property
    def url(self) -> str:
        """Where the container listens, ``http://host:port``."""

    @property
    def variants(self) -> tuple[str, ...]:
        """The production variants; the first serves what names none."""

    @property
    def in_service(self) -> bool:
        """Whether the endpoint takes requests."""


class Registry(Protocol):
    """The endpoints there are."""

    def find(self, name: str) -> Backend | None:
        """Give the endpoint of this name, or nothing."""


class EventLog(Protocol):
    """Where the runtime says what it did; never what was said."""

    def write(self, event: str, **fields: Field) -> None:
        """Note an event; cheap, and never raises."""
