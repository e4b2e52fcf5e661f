"""Where Antiphon answers otherwise than vLLM-Omni, on purpose. `docs/conformance.md` lists the same table.

A difference rewrites what the stock handlers said into what Antiphon has to say. It touches the lines it is about, in the
scripts it is about; everything else must still be equal, and a rewritten line must be met exactly.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import pairwise

type Lines = Sequence[str]
type Rule = Callable[[Lines], list[str]]


def _unchanged(lines: Lines) -> list[str]:
    return list(lines)


@dataclass(frozen=True, slots=True)
class Difference:
    """One deliberate difference.

    Attributes:
        name: unique.
        scripts: patterns of the names of the scripts it is about.
        stock: what vLLM-Omni does.
        ours: what Antiphon does.
        reason: why.
        rewrite: turns the lines of vLLM-Omni into those that Antiphon must give.
        reduce: leaves out of Antiphon's lines what cannot be compared.
    """

    name: str
    scripts: tuple[str, ...]
    stock: str
    ours: str
    reason: str
    rewrite: Rule
    reduce: Rule = _unchanged

    def concerns(self, script: str) -> bool:
        """Whether it is about the script of this name."""
        return any(fnmatchcase(script, pattern) for pattern in self.scripts)


_DROPPED = "closed by the server: 1006 ''"
# By the error before the drop; the first that matches.
_CLOSES = (
    ("Timeout waiting for session.config", 1008, "timeout waiting for session.config"),
    ("Idle timeout: no message received", 1001, "idle timeout"),
    ("Internal error: 'text'", 1003, "binary frames are not accepted"),
    ("Internal error: 1 validation error for OpenAICreateSpeechRequest", 1008, "invalid speech request"),
    ("", 1008, "a valid session.config must come first"),
)


def _close_frame(lines: Lines) -> list[str]:
    """Replace a drop after an error by the close frame that belongs to the error."""
    rewritten = list(lines)
    for index, (before, line) in enumerate(pairwise(lines), start=1):
        if line == _DROPPED and before.startswith('{"type":"error"'):
            code, reason = next((code, reason) for start, code, reason in _CLOSES if f'"message":"{start}' in before)
            rewritten[index] = f"closed by the server: {code} {reason!r}"
    return rewritten


def _close_reason(lines: Lines) -> list[str]:
    return [
        line.replace("closed by the server: 1000 ''", "closed by the server: 1000 'session.close'") for line in lines
    ]


def _without_sound(lines: Lines) -> list[str]:
    return [re.sub(r", sha256 \w+$", "", line) for line in lines]


def _without_limit(lines: Lines) -> list[str]:
    return [re.sub(r"^(closed by the server: 1009) .*", r"\1", line) for line in lines]


DIFFERENCES: tuple[Difference, ...] = (
    Difference(
        "a close frame after an error",
        ("*",),
        "sends the error and drops TCP, which a client sees as 1006",
        "sends the same error and then a close frame with a code and a reason",
        "A client can tell its own mistake (1008, 1003), an idle connection (1001) and a server in trouble (1011) apart.",
        _close_frame,
    ),
    Difference(
        "a reason in the close frame",
        ("*",),
        "answers `session.close` with 1000 and no reason",
        "answers it with 1000 and the reason `session.close`",
        "Logs on both sides say why a connection ended.",
        _close_reason,
    ),
    Difference(
        "the largest frame",
        ("beyond what a frame may hold",),
        "closes with 1009 for a frame of more than 16 MiB, and the reason counts its bytes",
        "closes with 1009 for a frame that is a little larger than that",
        "4 Mi characters, which the protocol allows, can have 16 MiB.",
        _without_limit,
        _without_limit,
    ),
    Difference(
        "the sound at another speed",
        ("speed *",),
        "stretches the audio with torchaudio",
        "asks the engine for another speed",
        "An engine that speaks slower sounds better than audio that is stretched. The length is compared, the sound is not.",
        _without_sound,
        _without_sound,
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
