"""Text from a file or a pipe. What is no UTF-8 in it is replaced, and said once."""

import codecs
import os
import sys
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

from antiphon.cli.failures import say_on_stderr

READ_BYTES = 4096


def text_of(file: Path) -> str:
    """The whole of a file.

    Raises:
        OSError: it cannot be read.
    """
    return "".join(_decoded([file.read_bytes()], str(file)))


def standard_input() -> Iterator[str]:
    """Yield what arrives when it arrives, not line by line."""
    return _decoded(iter(lambda: os.read(sys.stdin.fileno(), READ_BYTES), b""), "standard input")


def _decoded(pieces: Iterable[bytes], where: str) -> Iterator[str]:
    strict, lenient = (codecs.getincrementaldecoder("utf-8")(errors) for errors in ("strict", "replace"))
    warned = False
    for piece in chain(pieces, [b""]):
        if not warned:
            try:
                strict.decode(piece, final=not piece)
            except UnicodeDecodeError:
                warned = True
                say_on_stderr(f"{where} is not all UTF-8; what is not is replaced")
        yield lenient.decode(piece, final=not piece)
