"""A WAV file that can be read at every moment while it is being written."""

from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Protocol, Self

from antiphon.audio.wavfile import HEADER_SIZE, MAX_DATA_SIZE, wav_header
from antiphon.client.errors import RecordingFullError


class Sound(Protocol):
    """Audio that says its rate: an `Audio` event or a `PcmChunk`."""

    @property
    def data(self) -> bytes:
        """s16le mono samples, a whole number of them."""
        ...

    @property
    def sample_rate(self) -> int:
        """Samples per second."""
        ...


class WavRecorder:
    """Writes audio to a file. The file appears, and replaces what was there, with the first audio.

    The header is brought up to date after each write, so that whatever ends the process leaves a file that plays up
    to its last complete write.

    Args:
        path: of the file.
        max_bytes: of samples; a WAV file holds 4 GiB at most (a day at 24 kHz).
    """

    def __init__(self, path: str | Path, *, max_bytes: int = MAX_DATA_SIZE) -> None:
        self.path = Path(path)
        self._max_bytes = min(max_bytes, MAX_DATA_SIZE) & ~1
        self._file: BinaryIO | None = None
        self._sample_rate = 0
        self.bytes = 0
        """Samples written so far, in bytes."""

    def write(self, sound: Sound) -> None:
        """Append audio.

        Raises:
            ValueError: its sample rate is not that of what is there.
            RecordingFullError: the file is full; what fitted has been written.
            OSError: the file cannot be written.
        """
        if self._file is None:
            self._sample_rate = sound.sample_rate
            self._file = self._open()
        if sound.sample_rate != self._sample_rate:
            raise ValueError(f"{self.path.name} has {self._sample_rate} samples per second, not {sound.sample_rate}")
        fitting = sound.data[: self._max_bytes - self.bytes]
        self._append(self._file, fitting)
        if len(fitting) < len(sound.data):
            raise RecordingFullError(f"{self.path.name} is full with {self.bytes} bytes of samples")

    def close(self) -> None:
        """Close the file; idempotent."""
        if self._file is not None:
            self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _open(self) -> BinaryIO:
        file = self.path.open("wb")
        try:
            file.write(wav_header(self._sample_rate, 0))
            file.flush()
        except BaseException:
            with suppress(OSError):  # the same once more
                file.close()
            raise
        return file

    def _append(self, file: BinaryIO, data: bytes) -> None:
        # Samples first: readers ignore what lies behind the length that the header gives.
        file.seek(HEADER_SIZE + self.bytes)
        file.write(data)
        file.flush()
        self.bytes += len(data)
        file.seek(0)
        file.write(wav_header(self._sample_rate, self.bytes))
        file.flush()
