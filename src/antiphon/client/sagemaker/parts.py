"""From the parts of a stream to whole messages."""

from dataclasses import dataclass

from antiphon.client.transport import ConnectionClosedError

MAX_MESSAGE_BYTES = 4 * 2**20
"""Of one message; a stock server's largest chunk of PCM has 96,000 bytes."""

_UNREADABLE = 1007
_TOO_BIG = 1009


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a message, as a ``PayloadPart`` carries it.

    Attributes:
        data: as it is.
        text: UTF-8, instead of bytes; the first part of a message decides for all of it.
        last: the message ends here.
    """

    data: bytes
    text: bool
    last: bool


class Reassembler:
    """Puts messages together: a server's frames may arrive in fragments, cut anywhere."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._text: bool | None = None

    def add(self, part: Part) -> str | bytes | None:
        """Take a part; returns the message that it completes.

        Raises:
            ConnectionClosedError: the message is larger than `MAX_MESSAGE_BYTES`, or no UTF-8.
        """
        if len(self._data) + len(part.data) > MAX_MESSAGE_BYTES:
            raise ConnectionClosedError(_TOO_BIG, f"a message is larger than {MAX_MESSAGE_BYTES // 2**20} MiB")
        if part.last and self._text is None:
            return _message(part.data, text=part.text)
        self._data += part.data
        self._text = part.text if self._text is None else self._text
        if not part.last:
            return None
        data, text = bytes(self._data), self._text
        self._data.clear()
        self._text = None
        return _message(data, text=text)


def _message(data: bytes, *, text: bool) -> str | bytes:
    if not text:
        return data
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise ConnectionClosedError(_UNREADABLE, "a text message is no UTF-8") from None
