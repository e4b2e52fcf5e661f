"""The closed list of what an ``error`` message of ``antiphon/1`` can say."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType


class ErrorCode(StrEnum):
    """What was refused or failed; `MEANINGS` says what to do."""

    INVALID_MESSAGE = "invalid_message"
    MESSAGE_TOO_LARGE = "message_too_large"
    UNKNOWN_TYPE = "unknown_type"
    BINARY_FRAME = "binary_frame"
    UNSUPPORTED_DIALECT = "unsupported_dialect"
    INVALID_CONFIG = "invalid_config"
    CONFIG_REQUIRED = "config_required"
    INVALID_CONTEXT_ID = "invalid_context_id"
    UNKNOWN_CONTEXT = "unknown_context"
    CONTEXT_REUSED = "context_reused"
    CONTEXT_OPTIONS = "context_options"
    CONTEXT_DONE = "context_done"
    TOO_MANY_CONTEXTS = "too_many_contexts"
    BACKLOG = "backlog"
    CAPACITY = "capacity"
    INVALID_REQUEST = "invalid_request"
    SYNTHESIS_FAILED = "synthesis_failed"
    ENGINE_LOST = "engine_lost"
    CONFIG_TIMEOUT = "config_timeout"
    IDLE_TIMEOUT = "idle_timeout"
    SHUTDOWN = "shutdown"


class Ends(StrEnum):
    """What is over with an error."""

    NOTHING = "nothing"
    UNIT = "unit"
    CONTEXT = "context"
    SESSION = "session"


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a code means.

    Attributes:
        retryable: whether the same may succeed later, unchanged.
        ends: what is over with it.
        when: what has happened.
        remedy: what to do.
    """

    retryable: bool
    ends: Ends
    when: str
    remedy: str


MEANINGS: Mapping[ErrorCode, Meaning] = MappingProxyType(
    {
        ErrorCode.INVALID_MESSAGE: Meaning(
            False, Ends.NOTHING, "not a JSON object, or a field has a wrong type", "mend the message"
        ),
        ErrorCode.MESSAGE_TOO_LARGE: Meaning(
            False, Ends.NOTHING, "a frame is longer than the limit of its kind", "send the text in pieces"
        ),
        ErrorCode.UNKNOWN_TYPE: Meaning(False, Ends.NOTHING, "no such message", "mend the message"),
        ErrorCode.BINARY_FRAME: Meaning(False, Ends.NOTHING, "a client sends text frames only", "send JSON"),
        ErrorCode.UNSUPPORTED_DIALECT: Meaning(
            False, Ends.NOTHING, "a config names a dialect that is not spoken here", "name one of those it lists"
        ),
        ErrorCode.INVALID_CONFIG: Meaning(
            False, Ends.NOTHING, "a config has a field with a value that cannot be; the one before holds", "mend it"
        ),
        ErrorCode.CONFIG_REQUIRED: Meaning(
            False, Ends.NOTHING, "no valid session.config has come yet", "send one first"
        ),
        ErrorCode.INVALID_CONTEXT_ID: Meaning(
            False, Ends.NOTHING, "the context_id is missing, no string, empty or longer than 64 characters", "mend it"
        ),
        ErrorCode.UNKNOWN_CONTEXT: Meaning(
            False, Ends.NOTHING, "no input.text has opened the context", "open it with input.text"
        ),
        ErrorCode.CONTEXT_REUSED: Meaning(
            False, Ends.NOTHING, "the context is over, and its id cannot open another", "choose a new id"
        ),
        ErrorCode.CONTEXT_OPTIONS: Meaning(
            False, Ends.NOTHING, "voice, language or speed on other than a context's first input.text", "open another"
        ),
        ErrorCode.CONTEXT_DONE: Meaning(
            False, Ends.NOTHING, "input.text or input.flush after the context's input.done", "open another context"
        ),
        ErrorCode.TOO_MANY_CONTEXTS: Meaning(
            True, Ends.NOTHING, "as many contexts are alive as may be", "wait until one is over, or cancel one"
        ),
        ErrorCode.BACKLOG: Meaning(
            True, Ends.NOTHING, "more text waits to be spoken than may; this piece was not taken", "send it later"
        ),
        ErrorCode.CAPACITY: Meaning(
            True, Ends.CONTEXT, "as many contexts speak here as stay gap-free", "try again, or elsewhere"
        ),
        ErrorCode.INVALID_REQUEST: Meaning(
            False, Ends.CONTEXT, "the engine cannot speak like that, for example with this voice", "ask for another"
        ),
        ErrorCode.SYNTHESIS_FAILED: Meaning(
            True, Ends.UNIT, "a unit could not be spoken, or not further; the next ones are", "say it again, if needed"
        ),
        ErrorCode.ENGINE_LOST: Meaning(True, Ends.SESSION, "nothing can be spoken here any more", "connect elsewhere"),
        ErrorCode.CONFIG_TIMEOUT: Meaning(True, Ends.SESSION, "no session.config came in time", "send one at once"),
        ErrorCode.IDLE_TIMEOUT: Meaning(
            True, Ends.SESSION, "nothing was said by either side for long", "send a ping now and then"
        ),
        ErrorCode.SHUTDOWN: Meaning(True, Ends.SESSION, "the server ends", "connect again"),
    }
)
