"""What a command prints of what others said, and of what the system refused."""

import unicodedata
from collections.abc import Iterable
from difflib import get_close_matches

TARGETS = (
    "Who speaks: local: (this process), local:ENGINE, ws://HOST:PORT, wss://HOST, sagemaker://ENDPOINT, "
    "sagemaker-invoke://ENDPOINT (boto3 alone)."
)
"""The help of a command's ``--to``."""

_CONTROLS = frozenset({"Cc", "Cs"})
_LAYOUT = frozenset("\n\t")


def printable(text: str) -> str:
    """Text as it can be shown: control characters, which a terminal would obey, are spelled out."""
    return "".join(
        character
        if character in _LAYOUT or unicodedata.category(character) not in _CONTROLS
        else character.encode("unicode_escape", "surrogatepass").decode()
        for character in text
    )


def in_words(error: Exception) -> str:
    """What went wrong, without the number that the system gives it."""
    if not isinstance(error, OSError) or error.strerror is None:
        return str(error)
    return error.strerror if error.filename is None else f"{error.filename}: {error.strerror}"


def suggestion(name: str, known: Iterable[str]) -> str:
    """The end of a sentence about a name that there is not: the one that was meant, if one is near; else nothing."""
    found = get_close_matches(name.lower(), known, n=1)
    return f"; did you mean {found[0]}?" if found else ""
