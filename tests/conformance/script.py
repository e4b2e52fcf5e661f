"""The language of the scripts: what a client does, step by step."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

type Dialect = Literal["0.30", "0.26"]

DIALECTS: tuple[Dialect, ...] = ("0.30", "0.26")


@dataclass(frozen=True, slots=True)
class Send:
    """Send one message without waiting for anything.

    Attributes:
        data: str for a text frame, bytes for a binary one, a tuple of str for one message in fragments.
    """

    data: str | bytes | tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SendInText:
    """Send bytes, valid UTF-8 or not, in a text frame."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Wait:
    """Read until events of a type have arrived; ``audio`` is a binary frame that is not empty.

    Attributes:
        event: the ``type``.
        count: how many of them.
    """

    event: str
    count: int = 1


@dataclass(frozen=True, slots=True)
class WaitClosed:
    """Read until the server has closed the connection."""


@dataclass(frozen=True, slots=True)
class Sleep:
    """Do nothing for a time."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Close:
    """Close the connection as the protocol wants it, and ignore what still arrives."""

    code: int = 1000
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Abort:
    """Drop the TCP connection."""


@dataclass(frozen=True, slots=True)
class Connect:
    """Open another connection to the same server, after `Close`, `Abort` or the server's close."""


type Step = Send | SendInText | Wait | WaitClosed | Sleep | Close | Abort | Connect


@dataclass(frozen=True, slots=True)
class Script:
    """What one client does.

    After the last step, a connection that is still open is probed with a message of an unknown type: what arrives
    until it is answered belongs to the transcript, and the answer shows in which state the session is.

    Attributes:
        name: unique; says what is tried.
        steps: what the client does.
        skip: dialects it is not played in, each with the reason.
        impatient: play it against servers with short time-outs (`servers.SHORT_TIMEOUTS`).
    """

    name: str
    steps: tuple[Step, ...]
    skip: Mapping[Dialect, str] = field(default_factory=lambda: MappingProxyType({}))
    impatient: bool = False


def script(name: str, *steps: Step, skip: Mapping[Dialect, str] | None = None, impatient: bool = False) -> Script:
    """Write a script."""
    return Script(name, steps, MappingProxyType(dict(skip or {})), impatient)


def message(**fields: Any) -> Send:
    """Send a JSON object."""
    return Send(json.dumps(fields, ensure_ascii=False))


def config(**fields: Any) -> Send:
    """Send a ``session.config``."""
    return message(type="session.config", **fields)


def pcm(**fields: Any) -> Send:
    """Send a ``session.config`` that asks for streamed PCM."""
    return config(response_format="pcm", stream_audio=True, **fields)


def text(value: Any) -> Send:
    """Send an ``input.text``."""
    return message(type="input.text", text=value)


def texts(*values: str) -> tuple[Send, ...]:
    """Send several ``input.text``, one after another."""
    return tuple(text(value) for value in values)


DONE = message(type="input.done")
CLOSE_SESSION = message(type="session.close")
DONE_ANSWERED = Wait("session.done")
ERROR_ANSWERED = Wait("error")


def speak(value: str) -> tuple[Step, ...]:
    """Send a text, flush it, and wait for the end of the flush."""
    return (text(value), DONE, DONE_ANSWERED)
