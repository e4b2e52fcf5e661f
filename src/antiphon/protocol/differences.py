"""Where this server behaves otherwise than vLLM-Omni in the same dialect, and why."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Difference:
    """One deliberate difference.

    Attributes:
        case: when it shows.
        stock: what vLLM-Omni does.
        here: what this server does.
        why: what it is good for.
    """

    case: str
    stock: str
    here: str
    why: str


DIFFERENCES = (
    Difference(
        "the session ends after an error",
        "the error, then TCP is dropped with no close frame (1006)",
        "the same error, then a close frame with a code and a reason",
        "a client can tell its own fault from the server's",
    ),
    Difference(
        "messages arrive while a unit is spoken",
        "they wait in the transport",
        "they are read, up to the read-ahead bound, and take effect in the same order",
        "the next unit is synthesised ahead; a disconnect is noticed at once",
    ),
    Difference(
        "the client disconnects",
        "noticed at the next send; a whole file is synthesised to its end",
        "all synthesis stops at once",
        "no work for nobody",
    ),
    Difference(
        "the idle timer",
        "runs from the moment the server reads again",
        "runs from the last message or the end of output, whichever is later",
        "reading ahead must not make the timer run during speech",
    ),
    Difference(
        "JSON nested too deeply, or an integer of more than 4,300 digits",
        "an internal error that ends the session",
        "“Invalid JSON message”; a configured session goes on",
        "a bad message is not a reason to lose the session",
    ),
    Difference(
        "half of a surrogate pair, escaped, in `input.text`",
        "an internal error that ends the session when the text is spoken",
        "an error at once; that text is not buffered and the session goes on",
        "it cannot be spoken, nor echoed as UTF-8",
    ),
    Difference(
        "half of a surrogate pair in what an error quotes",
        "the error is lost",
        "the error is sent, the half written as \\udXXX",
        "every refusal is answered",
    ),
    Difference(
        "more than 1 Mi characters buffered without a flush",
        "buffered without bound",
        "an error; that text is not buffered and the session goes on",
        "everything that waits has a bound",
    ),
)
