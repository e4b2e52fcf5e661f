"""What differs between the versions of vLLM-Omni whose clients are served, as data."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from antiphon.protocol.session_config import SessionConfig


@dataclass(frozen=True, slots=True)
class Dialect:
    """One version of the protocol.

    Attributes:
        name: the version of vLLM-Omni that first spoke it.
        parse_config: validates the fields of a `session.config`; raises pydantic.ValidationError.
        config_fields: what a `session.config` may set; others are ignored.
        busy_message: answers a `session.config` while an utterance is in progress.
        empty_text_opens: an `input.text` without text begins an utterance too.
        marks_partial_audio: an error after some audio of the unit was sent says so.
        sample_rate: of streamed PCM, samples per second. Stock servers only have this rate; one that speaks at
            another says so with `dataclasses.replace`, for `audio.start` tells the client.
    """

    name: str
    parse_config: Callable[[dict[str, Any]], SessionConfig]
    config_fields: frozenset[str]
    busy_message: str
    empty_text_opens: bool
    marks_partial_audio: bool
    sample_rate: int = 24_000


_FIELDS_0_30 = frozenset(SessionConfig.model_fields)

DIALECT_0_30 = Dialect(
    name="0.30",
    parse_config=SessionConfig.parse,
    config_fields=_FIELDS_0_30,
    busy_message="session.config cannot be applied while an utterance is in progress; send input.done first",
    empty_text_opens=False,
    marks_partial_audio=True,
)

DIALECT_0_26 = Dialect(
    name="0.26",
    parse_config=SessionConfig.parse_0_26,
    config_fields=_FIELDS_0_30 - {"seed", "split_granularity"},
    busy_message="session.config cannot be applied while input is buffered; send input.done first",
    empty_text_opens=True,
    marks_partial_audio=False,
)

DIALECTS: Mapping[str, Dialect] = MappingProxyType({dialect.name: dialect for dialect in (DIALECT_0_30, DIALECT_0_26)})
"""By name. vLLM-Omni 0.28 speaks ``0.26``, and 0.29 ``0.30``."""
