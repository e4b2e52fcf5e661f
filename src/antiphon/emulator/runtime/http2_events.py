"""What a client's HTTP/2 connection says."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Request:
    """A request's headers are complete, pseudo-headers first."""

    stream: int
    headers: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Data:
    """A piece of a request's body; `credit` is what to give back once it is taken."""

    stream: int
    data: bytes
    credit: int


@dataclass(frozen=True, slots=True)
class Ended:
    """A request's body is complete."""

    stream: int


@dataclass(frozen=True, slots=True)
class Reset:
    """The client gave a stream up."""

    stream: int
    error_code: int


@dataclass(frozen=True, slots=True)
class Gone:
    """The connection is over: the client said so, or broke the rules; what is left to send says which."""

    reason: str


Event = Request | Data | Ended | Reset | Gone
