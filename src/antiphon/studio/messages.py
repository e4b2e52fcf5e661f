"""What a page and its bridge say to each other: JSON both ways, and PCM to the page.

Everything to the page names the page's utterance by its `id`, except PCM, which belongs to the one named last.
"""

import json
from dataclasses import asdict
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from antiphon.client.errors import SpeechError
from antiphon.client.events import Audio, Event, Finished, UnitDone, UnitSkipped, UnitStarted

MAX_TEXT = 5000
"""Characters of one utterance: about five minutes of speech."""

MAX_NAME = 100
"""Characters of a voice's or a language's name."""

MAX_MESSAGE_BYTES = 64 * 1024
"""Of a page's message: the longest text, were all its characters escaped, and the rest."""


class RequestError(Exception):
    """A page's message is none; the error's text says why, and repeats nothing of it."""


class Speak(BaseModel):
    """Say something, instead of whatever is being said.

    Attributes:
        type: tells messages apart.
        id: the page's number for the utterance.
        text: what to say.
        voice: who says it; None or empty for the server's default.
        language: in which language; None or empty for the server's default.
        tokens_per_second: the pace at which the text is written, as by a language model; None for all at once.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    type: Literal["speak"]
    id: int = Field(ge=0, lt=2**53)
    text: str = Field(max_length=MAX_TEXT)
    voice: str | None = Field(default=None, max_length=MAX_NAME)
    language: str | None = Field(default=None, max_length=MAX_NAME)
    tokens_per_second: float | None = Field(default=None, gt=0, le=1000)


class Stop(BaseModel):
    """Say no more."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    type: Literal["stop"]


_request: TypeAdapter[Speak | Stop] = TypeAdapter(Annotated[Speak | Stop, Field(discriminator="type")])

_TYPES: dict[type[Event], str] = {
    UnitStarted: "unit_started",
    UnitDone: "unit_done",
    UnitSkipped: "unit_skipped",
    Finished: "finished",
}


def parse(message: str) -> Speak | Stop:
    """Read a page's message.

    Raises:
        RequestError: it is none.
    """
    try:
        return _request.validate_json(message)
    except ValidationError as error:
        (first, *_) = error.errors(include_url=False, include_input=False, include_context=False)
        where = "".join(f"{part}: " for part in first["loc"][1:])
        raise RequestError(f"the page's request does not fit: {where}{first['msg']}") from None


def encode(event: Event, utterance: int) -> str | bytes:
    """Return what tells a page of an event: PCM as it is, all else by its fields."""
    if isinstance(event, Audio):
        return event.data
    return json.dumps({"type": _TYPES[type(event)], "id": utterance, **asdict(event)})


def encode_error(error: SpeechError | RequestError, utterance: int | None) -> str:
    """Return what tells a page that an utterance, or with None its message, came to nothing."""
    retryable = isinstance(error, SpeechError) and error.retryable
    return json.dumps({"type": "error", "id": utterance, "message": str(error), "retryable": retryable})
