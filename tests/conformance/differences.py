"""Where Antiphon answers otherwise than vLLM-Omni, on purpose. `docs/conformance.md` lists the same table.

A difference rewrites what the stock handlers said into what Antiphon has to say. It touches the lines it is about, in the
scripts it is about; everything else must still be equal, and a rewritten line must be met exactly.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import pairwise

from tests.conformance.player import PROBE

type Lines = Sequence[str]
type Rule = Callable[[Lines], list[str]]


@dataclass(frozen=True, slots=True)
class Difference:
    """One deliberate difference.

    Attributes:
        name: unique.
        scripts: pattern of the names of the scripts it is about.
        stock: what vLLM-Omni does.
        ours: what Antiphon does.
        reason: why.
        rewrite: turns the lines of vLLM-Omni into those that Antiphon must give.
        reduce: leaves out of Antiphon's lines what cannot be compared.
    """

    name: str
    scripts: str
    stock: str
    ours: str
    reason: str
    rewrite: Rule
    reduce: Rule = list

    def concerns(self, script: str) -> bool:
        """Whether it is about the script of this name."""
        return fnmatchcase(script, self.scripts)


_DROPPED = "closed by the server: 1006 ''"
_ALIVE = (f'{{"type":"error","message":"Unknown message type: {PROBE}"}}', "alive")
# By how the error before the drop begins.
_CLOSES = (
    ("Timeout waiting for session.config", "1008 'timeout waiting for session.config'"),
    ("Idle timeout: no message received", "1001 'idle timeout'"),
    ("Internal error: 'text'", "1003 'binary frames are not accepted'"),
    ("Internal error: 1 validation error for OpenAICreateSpeechRequest", "1008 'invalid speech request'"),
)
_BAD_START = "1008 'a valid session.config must come first'"


def _error(message: str) -> str:
    return f'{{"type":"error","message":"{message}"}}'


def _is_error(line: str, start: str) -> bool:
    return line.startswith(f'{{"type":"error","message":"{start}')


def _close_frame(lines: Lines) -> list[str]:
    """Replace a drop after an error by the close frame that belongs to the error."""
    rewritten = list(lines)
    for index, (before, line) in enumerate(pairwise(lines), start=1):
        if line == _DROPPED and (close := _close_after(before, first=index == 1)):
            rewritten[index] = f"closed by the server: {close}"
    return rewritten


def _close_after(line: str, *, first: bool) -> str | None:
    for start, close in _CLOSES:
        if _is_error(line, start):
            return close
    refused = first and _is_error(line, "") and not _is_error(line, "Internal error")
    return _BAD_START if refused else None


def _close_reason(lines: Lines) -> list[str]:
    return [
        line.replace("closed by the server: 1000 ''", "closed by the server: 1000 'session.close'") for line in lines
    ]


def _reason_for_bad_text(lines: Lines) -> list[str]:
    return [
        line.replace("closed by the server: 1007 ''", "closed by the server: 1007 'a text message is not valid UTF-8'")
        for line in lines
    ]


def _without_sound(lines: Lines) -> list[str]:
    return [re.sub(r", sha256 \w+$", "", line) for line in lines]


def _without_limit(lines: Lines) -> list[str]:
    return [re.sub(r"^(closed by the server: 1009) .*", r"\1", line) for line in lines]


def _instead_of(internal_error: str, *answer: str) -> Rule:
    """Replace the internal error that ends the session by `answer`, and let the session live."""

    def rewrite(lines: Lines) -> list[str]:
        *before, error, end = lines
        fatal = _is_error(error, f"Internal error: {internal_error}") and end == _DROPPED
        return [*before, *answer, *_ALIVE] if fatal else list(lines)

    return rewrite


def _inserted(position: int, line: str) -> Rule:
    return lambda lines: [*lines[:position], line, *lines[position:]]


def _last_text_refused(lines: Lines) -> list[str]:
    refusal = _error("input.text: at most 1048576 characters can be buffered")
    return [refusal, *(line.replace("x" * 1_080_000, "x" * 960_000) for line in lines)]


_UNREADABLE = "cannot be read by Python's JSON decoder: it answers “Internal error” and drops the connection"
_HALF = "half a surrogate pair is no character: it can neither be spoken nor sent back as UTF-8"

DIFFERENCES: tuple[Difference, ...] = (
    Difference(
        "a close frame after an error",
        "*",
        "sends the error and drops TCP, which a client sees as 1006",
        "sends the same error and then a close frame with a code and a reason",
        "A client can tell its own mistake (1008, 1003) from an idle connection (1001).",
        _close_frame,
    ),
    Difference(
        "a reason in the close frame",
        "*",
        "answers `session.close` with 1000 and no reason",
        "answers it with 1000 and the reason `session.close`",
        "Logs on both sides say why a connection ended.",
        _close_reason,
    ),
    Difference(
        "a reason for text that is not UTF-8",
        "a text frame that is not UTF-8*",
        "closes with 1007 and no reason",
        "closes with 1007 and says that the text is not valid UTF-8",
        "A close frame always has a reason.",
        _reason_for_bad_text,
    ),
    Difference(
        "the largest frame",
        "beyond what a frame may hold",
        "closes with 1009 for a frame of more than 16 MiB; the reason counts its bytes",
        "closes with 1009 for a frame of more than 16 MiB and 1 KiB; the reason counts its bytes",
        "The 4 Mi characters that the protocol allows can have 16 MiB.",
        _without_limit,
        _without_limit,
    ),
    Difference(
        "the sound at another speed",
        "speed *",
        "stretches the audio with torchaudio",
        "asks the engine for another speed",
        "An engine that speaks slower sounds better than audio that is stretched. Lengths are compared, the sound is not.",
        _without_sound,
        _without_sound,
    ),
    Difference(
        "an integer of more than 4,300 digits",
        "an integer of too many digits",
        _UNREADABLE,
        "answers “Invalid JSON message”; a configured session lives on",
        "A bad message is no reason to lose the session.",
        _instead_of("Exceeds the limit (4300 digits)", _error("Invalid JSON message")),
    ),
    Difference(
        "JSON that is nested too deeply",
        "JSON nested too deeply",
        _UNREADABLE,
        "answers “Invalid JSON message”; a configured session lives on",
        "A bad message is no reason to lose the session.",
        _instead_of("maximum recursion depth exceeded", _error("Invalid JSON message")),
    ),
    Difference(
        "half a surrogate pair to be spoken",
        "half a surrogate pair in a text",
        "answers “Internal error” and drops the connection when the text is to be spoken",
        "refuses the `input.text` at once; the session lives on",
        f"{_HALF[0].upper()}{_HALF[1:]}.",
        _instead_of(
            "'utf-8' codec can't encode",
            _error("input.text holds half of a surrogate pair, which is not a character"),
            '{"type":"session.done","utterance_index":0,"total_sentences":0}',
        ),
    ),
    Difference(
        "half a surrogate pair in the error for a type",
        "half a surrogate pair as a type",
        "loses the error, because it cannot be encoded",
        "sends it, with the half written as an escape",
        "Every refusal is answered.",
        _inserted(0, _error(r"Unknown message type: \\udfff")),
    ),
    Difference(
        "half a surrogate pair in the error for a voice",
        "half a surrogate pair as a voice",
        "loses the error, because it cannot be encoded",
        "sends it, with the half written as an escape",
        "Every refusal is answered.",
        _inserted(
            1,
            _error(
                r"Generation failed for utterance 0, sentence 0: Invalid voice '\\ud800'. "
                "Supported: aiden, dylan, eric, ono_anna, ryan, serena, sohee, uncle_fu, vivian"
            ),
        ),
    ),
    Difference(
        "a million characters without a flush",
        "a million characters",
        "buffers without bound",
        "refuses an `input.text` that would make more than 1,048,576 characters wait; the session lives on",
        "Everything that waits has a bound.",
        _last_text_refused,
    ),
)


def expected(script: str, stock: Lines) -> list[str]:
    """Return what Antiphon has to answer to `script`, given what vLLM-Omni answered."""
    lines = list(stock)
    for difference in DIFFERENCES:
        if difference.concerns(script):
            lines = difference.rewrite(lines)
    return lines


def comparable(script: str, ours: Lines) -> list[str]:
    """Return what of Antiphon's answer to `script` is compared."""
    lines = list(ours)
    for difference in DIFFERENCES:
        if difference.concerns(script):
            lines = difference.reduce(lines)
    return lines


def as_markdown() -> str:
    """Return the table for the documentation."""
    rows = (f"| {d.name} | {d.stock} | {d.ours} | {d.reason} |" for d in DIFFERENCES)
    return "\n".join(("| difference | vLLM-Omni | Antiphon | why |", "| --- | --- | --- | --- |", *rows))
