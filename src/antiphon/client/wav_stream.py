"""Samples out of a WAV file while it arrives, cut anywhere."""

import struct

from antiphon.audio.wavfile import UNKNOWN_SIZE

MAX_HEADER_BYTES = 4096
"""Before the samples; a server's own header has 44."""

_RIFF = struct.Struct("<4sI4s")
_CHUNK = struct.Struct("<4sI")
_FORMAT = struct.Struct("<HHIIHH")

# A stream's header is written before its length is known.
_OPEN_SIZES = frozenset({0, UNKNOWN_SIZE})


class WavError(ValueError):
    """It is no WAV file of 16-bit mono samples, or it ends too early; the text says which."""


class WavStream:
    """Reads a WAV file of 16-bit mono PCM.

    Attributes:
        sample_rate: samples per second; None until the header has arrived.
    """

    def __init__(self) -> None:
        self.sample_rate: int | None = None
        self._header = bytearray()
        self._odd_byte = b""
        self._left: int | None = None

    def feed(self, data: bytes) -> bytes:
        """Take the next bytes, any number, and return the whole samples (s16le) that they complete.

        Raises:
            WavError: it is no such file.
        """
        if self.sample_rate is None:
            self._header += data
            data = self._read_header()
        if self._left is not None:
            data = data[: self._left]  # what follows the samples is no sound
            self._left -= len(data)
        data = self._odd_byte + data
        whole = len(data) & ~1
        self._odd_byte = data[whole:]
        return data[:whole]

    def finish(self) -> None:
        """Take the end.

        Raises:
            WavError: there was more to come.
        """
        if self.sample_rate is None:
            raise WavError("the audio ends within its header" if self._header else "no audio came")
        if self._left or self._odd_byte:
            raise WavError("the audio ends too early")

    def _read_header(self) -> bytes:
        """Look for the samples and return what has arrived of them."""
        header = self._header
        if len(header) >= _RIFF.size:
            kind, _, form = _RIFF.unpack_from(header)
            if (kind, form) != (b"RIFF", b"WAVE"):
                raise WavError("the server sends something else than WAV audio")
        start = self._find_samples()
        if start is None:
            if len(header) > MAX_HEADER_BYTES:
                raise WavError("the audio has no beginning")
            return b""
        self._header = bytearray()
        return bytes(header[start:])

    def _find_samples(self) -> int | None:
        header, at, sample_rate = self._header, _RIFF.size, None
        while at + _CHUNK.size <= len(header):
            name, size = _CHUNK.unpack_from(header, at)
            at += _CHUNK.size
            if name == b"data":
                self.sample_rate = _known(sample_rate)
                self._left = None if size in _OPEN_SIZES else size
                return at
            if name == b"fmt " and at + _FORMAT.size <= len(header):
                sample_rate = _sample_rate(_FORMAT.unpack_from(header, at))
            at += size + size % 2
        return None


def _sample_rate(fields: tuple[int, ...]) -> int:
    encoding, channels, sample_rate, _, _, bits = fields
    if (encoding, channels, bits) != (1, 1, 16):
        raise WavError(f"the audio is not 16-bit mono PCM: format {encoding}, {channels} channels, {bits} bits")
    return sample_rate


def _known(sample_rate: int | None) -> int:
    if not sample_rate:
        raise WavError("the server does not say the sample rate of its audio")
    return sample_rate
