"""Reads the transcripts: what each side of a connection says, line by line, as a server test can replay it.

A line is one of

- ``# …``: a remark; the first one is the transcript's title.
- ``@ name`` or ``@ name value``: what kind of server it takes (`Transcript.settings`).
- ``> {…}``: the client sends this. ``<<9>>`` in it stands for nine letters x. ``> binary 3`` is a binary frame of 3 bytes.
- ``< {…}``: the server's next text frame. It has these fields with these values, ``"*"`` being any, and maybe others.
- ``<? {…}``: the same, but it may be missing.
- ``< audio 2``: at least two binary frames come before the server's next text frame. None may come between units.
- ``< close 1000``: the server closes with this code.
- ``! wait 30``: this many seconds pass. ``! disconnect``: the client is gone. ``! shutdown``: the server is to end.

The server's text frames may come at any time after what the client sent before them; between two units and after the
end of one no binary frame is allowed. Units of a transcript are as `tone` speaks them: 60 ms per character.
"""

import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "transcripts"
_REPEAT = re.compile(r"<<(\d+)>>")


@dataclass(frozen=True, slots=True)
class Say:
    """The client sends a frame."""

    data: str | bytes


@dataclass(frozen=True, slots=True)
class Hear:
    """The server sends a text frame that has these fields."""

    fields: dict[str, Any]
    optional: bool = False

    def matches(self, actual: dict[str, Any]) -> bool:
        """Whether a frame is the one."""
        return all(name in actual and expected in ("*", actual[name]) for name, expected in self.fields.items())


@dataclass(frozen=True, slots=True)
class HearAudio:
    """The server sends at least so many binary frames."""

    frames: int


@dataclass(frozen=True, slots=True)
class HearClose:
    """The server closes the connection."""

    code: int


@dataclass(frozen=True, slots=True)
class Happen:
    """Something else happens: ``wait``, ``disconnect`` or ``shutdown``."""

    what: str
    seconds: float = 0.0


type Step = Say | Hear | HearAudio | HearClose | Happen


@dataclass(frozen=True, slots=True)
class Transcript:
    """One conversation.

    Attributes:
        name: of its file.
        title: what it shows.
        settings: what kind of server it takes. ``crowded``: no further session may speak; ``idle_timeout_s`` and
            ``config_timeout_s``: limits; ``breaks``: its engine fails after one chunk of a unit whose text begins with
            ``Fail``, and is lost after one of a unit that begins with ``Lost``.
        steps: in order.
    """

    name: str
    title: str
    settings: dict[str, str]
    steps: tuple[Step, ...]


def parse(name: str, source: str) -> Transcript:
    """Read a transcript.

    Raises:
        ValueError: a line is none of those above.
    """
    lines = [line for line in source.splitlines() if line]
    remarks = [line[1:].strip() for line in lines if line.startswith("#")]
    settings = [line[1:].strip().partition(" ") for line in lines if line.startswith("@")]
    steps = tuple(_step(line) for line in lines if line[0] not in "#@")
    return Transcript(name, remarks[0], {key: value for key, _, value in settings}, steps)


def all_transcripts() -> Iterator[Transcript]:
    """Every transcript, by name."""
    for path in sorted(FOLDER.glob("*.txt")):
        yield parse(path.stem, path.read_text(encoding="utf-8"))


def _step(line: str) -> Step:
    sign, _, rest = line.partition(" ")
    word, _, argument = rest.partition(" ")
    match sign, word:
        case ">", "binary":
            return Say(bytes(int(argument)))
        case ">", _:
            return Say(_REPEAT.sub(lambda match: "x" * int(match[1]), rest))
        case "<", "audio":
            return HearAudio(int(argument))
        case "<", "close":
            return HearClose(int(argument))
        case (("<" | "<?"), _):
            return Hear(json.loads(_REPEAT.sub(lambda match: "x" * int(match[1]), rest)), optional=sign == "<?")
        case "!", _:
            return Happen(word, float(argument or 0))
    raise ValueError(f"not a line of a transcript: {line}")


_LINKS = "../tests/protocol/duplex/transcripts"
_WHOLE = re.compile(r"(<!-- transcript: (\w+) -->\n```text\n).*?(```\n)", re.DOTALL)
_LIST = re.compile(r"(<!-- transcripts -->\n).*?(<!-- end -->)", re.DOTALL)


def update(page: str) -> str:
    """Return the protocol's text with the transcripts that it shows and the list of all as the files have them."""
    rows = "".join(f"| [{each.name}]({_LINKS}/{each.name}.txt) | {each.title} |\n" for each in all_transcripts())
    page = _LIST.sub(lambda match: f"{match[1]}\n| file | what it shows |\n| --- | --- |\n{rows}\n{match[2]}", page)
    return _WHOLE.sub(
        lambda match: match[1] + (FOLDER / f"{match[2]}.txt").read_text(encoding="utf-8") + match[3], page
    )


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.write_text(update(path.read_text(encoding="utf-8")), encoding="utf-8")
