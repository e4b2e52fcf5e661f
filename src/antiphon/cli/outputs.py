"""Where a command's audio goes: a file, standard output, the loudspeaker."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path

from antiphon.audio.wavfile import wav_header
from antiphon.cli.failures import ExitCode, fail, reported
from antiphon.client.errors import SpeechError
from antiphon.client.events import Audio
from antiphon.client.player import Player
from antiphon.client.recorder import WavRecorder

STANDARD_OUTPUT = Path("-")

# A pipe that takes anything takes this much (PIPE_BUF of Linux; POSIX promises less, then it waits a moment).
_PIECE_BYTES = 4096


class WavStream:
    """Writes a WAV file of unknown length to a pipe, while the event loop goes on.

    Args:
        descriptor: of the pipe or file.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._sample_rate = 0

    async def write(self, audio: Audio) -> None:
        """Append audio.

        Raises:
            ValueError: the sample rate has changed.
            OSError: nobody reads any more, or it cannot be written.
        """
        header = b"" if self._sample_rate else wav_header(audio.sample_rate)
        self._sample_rate = self._sample_rate or audio.sample_rate
        if audio.sample_rate != self._sample_rate:
            raise ValueError(f"this stream has {self._sample_rate} samples per second, not {audio.sample_rate}")
        data = header + audio.data
        while data:
            await _writable(self._descriptor)
            data = data[os.write(self._descriptor, data[:_PIECE_BYTES]) :]


async def _writable(descriptor: int) -> None:
    loop, writable = asyncio.get_running_loop(), asyncio.Event()
    try:
        loop.add_writer(descriptor, writable.set)
    except (PermissionError, NotImplementedError):
        return  # a regular file, which always is; or Windows, where one cannot wait for it
    try:
        await writable.wait()
    finally:
        loop.remove_writer(descriptor)


class Outputs:
    """Takes audio and passes it to every place that was asked for."""

    def __init__(self, file: WavRecorder | None, stream: WavStream | None, player: Player | None) -> None:
        self._file = file
        self._stream = stream
        self._player = player

    async def take(self, audio: Audio) -> None:
        """Write and play a chunk; the file first, so that it is complete however slow the player is.

        Raises:
            SpeechError: the sample rate has changed, or the player or the file takes no more.
            OSError: the file cannot be written.
        """
        try:
            if self._file is not None:
                with _named(self._file.path):
                    self._file.write(audio)
            if self._stream is not None:
                await self._stream.write(audio)
            if self._player is not None:
                await self._player.play(audio)
        except ValueError as error:
            raise SpeechError(f"the server changed its sample rate: {error}") from None


def check_output(path: Path | None) -> None:
    """Refuse what cannot be written, before anything is spoken; nothing is created or changed.

    Raises:
        typer.Exit: it cannot be; it has been said.
    """
    if path is None or path == STANDARD_OUTPUT:
        return
    with reported(OSError, code=ExitCode.USAGE):
        problem = _problem(path)
    if problem:
        raise fail(f"cannot write {path}: {problem}", ExitCode.USAGE)


def _problem(path: Path) -> str:
    if path.is_dir():
        return "it is a folder; name a file in it"
    if path.is_fifo():
        return "it is a pipe; write to standard output with -o -"
    if not path.parent.is_dir():
        return f"there is no folder {path.parent}"
    return "" if os.access(path if path.exists() else path.parent, os.W_OK) else "you may not write there"


@asynccontextmanager
async def outputs(path: Path | None, *, play: bool) -> AsyncIterator[Outputs]:
    """Open the places; leaving waits until everything has been played.

    Args:
        path: of a WAV file; `STANDARD_OUTPUT` for a WAV stream there.
        play: through the loudspeaker.

    Raises:
        PlayerError: there is no player, or no sound device.
        OSError: the file cannot be written.
    """
    async with AsyncExitStack() as stack:
        stream = WavStream(sys.stdout.fileno()) if path == STANDARD_OUTPUT else None
        file = stack.enter_context(_recording(path)) if path is not None and stream is None else None
        player = await stack.enter_async_context(Player()) if play else None
        yield Outputs(file, stream, player)


@contextmanager
def _recording(path: Path) -> Iterator[WavRecorder]:
    recorder = WavRecorder(path)
    try:
        yield recorder
    finally:
        with _named(path):
            recorder.close()


@contextmanager
def _named(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None
