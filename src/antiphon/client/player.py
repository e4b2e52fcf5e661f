"""Playback through whatever player the system has: raw samples into one process per utterance."""

import asyncio
import os
import shutil
import tempfile
from asyncio.subprocess import DEVNULL, PIPE, Process
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from antiphon.client.errors import PlayerError
from antiphon.client.recorder import Sound, WavRecorder

_MESSAGE_BYTES = 400


@dataclass(frozen=True, slots=True)
class PlayerCommand:
    """A program that plays audio.

    Attributes:
        program: name or path.
        arguments: of which ``{rate}`` and ``{file}`` stand for the sample rate and the file.
        takes_file: it plays a WAV file and cannot play from its standard input.
    """

    program: str
    arguments: tuple[str, ...]
    takes_file: bool = False

    def command_line(self, *, rate: int, file: str = "") -> list[str]:
        """The program with its arguments."""
        return [self.program, *(argument.format(rate=rate, file=file) for argument in self.arguments)]


def _command(line: str, *, takes_file: bool = False) -> PlayerCommand:
    program, *arguments = line.split()
    return PlayerCommand(program, tuple(arguments), takes_file)


# Sound servers first: they mix, and follow the user's choice of device. Raw input with an explicit format, because
# a player that probes its input starts a second late.
PLAYERS = (
    _command("pacat --playback --raw --format=s16le --rate={rate} --channels=1 --latency-msec=50"),
    _command("pw-cat --playback --raw --format=s16 --rate={rate} --channels=1 --latency=50ms -"),
    _command("aplay -q -t raw -f S16_LE -r {rate} -c 1 -"),
    _command("play -q -t raw -e signed-integer -b 16 -L -r {rate} -c 1 -"),
    _command("ffplay -loglevel error -nodisp -autoexit -fflags nobuffer -f s16le -sample_rate {rate} -i pipe:0"),
    _command("afplay {file}", takes_file=True),
)


def find_player() -> PlayerCommand | None:
    """The first of `PLAYERS` that is on the path."""
    return next((player for player in PLAYERS if shutil.which(player.program)), None)


class Player:
    """Plays the audio of one utterance; use it with ``async with``.

    Leaving normally waits until all has been played; leaving by an exception or cancellation falls silent at once.

    Args:
        command: what plays; None for the first that is installed.

    Raises:
        PlayerError: none is installed.
    """

    def __init__(self, command: PlayerCommand | None = None) -> None:
        found = command or find_player()
        if found is None:
            names = ", ".join(player.program for player in PLAYERS)
            raise PlayerError(f"no audio player is installed; any of these will do: {names}")
        self._command = found
        self._backend: _PipePlayback | _FilePlayback | None = None

    @property
    def name(self) -> str:
        """The program that plays."""
        return Path(self._command.program).name

    async def play(self, sound: Sound) -> None:
        """Play audio after what was given before; waits while the player has enough.

        Raises:
            PlayerError: the player gave up, for example because there is no sound device.
            ValueError: the sample rate has changed.
        """
        if self._backend is None:
            kind = _FilePlayback if self._command.takes_file else _PipePlayback
            self._backend = await kind.start(self._command, sound.sample_rate)
        if sound.sample_rate != self._backend.sample_rate:
            raise ValueError(f"this plays {self._backend.sample_rate} samples per second, not {sound.sample_rate}")
        await self._backend.play(sound)

    async def finish(self) -> None:
        """Wait until everything has been played.

        Raises:
            PlayerError: the player gave up before.
        """
        if self._backend is not None:
            await self._backend.finish()

    async def stop(self) -> None:
        """Fall silent at once; idempotent."""
        if self._backend is not None:
            await self._backend.stop()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            if exc_type is None:
                await self.finish()
        finally:
            await self.stop()


class _PipePlayback:
    """A process that reads samples from its standard input."""

    def __init__(self, process: Process, complaints: BinaryIO, sample_rate: int) -> None:
        self._process = process
        self._complaints = complaints
        self.sample_rate = sample_rate

    @classmethod
    async def start(cls, command: PlayerCommand, sample_rate: int) -> Self:
        process, complaints = await _spawn(command.command_line(rate=sample_rate), stdin=PIPE)
        return cls(process, complaints, sample_rate)

    async def play(self, sound: Sound) -> None:
        stdin = self._process.stdin
        if stdin is None or self._process.returncode is not None:
            raise _gave_up(self._process, self._complaints)
        try:
            stdin.write(sound.data)
            await stdin.drain()
        except (BrokenPipeError, ConnectionResetError):
            await self._process.wait()
            raise _gave_up(self._process, self._complaints) from None

    async def finish(self) -> None:
        if self._process.stdin is not None:
            self._process.stdin.close()
        if await self._process.wait():
            raise _gave_up(self._process, self._complaints)

    async def stop(self) -> None:
        await _end(self._process)
        if self._process.stdin is not None:
            self._process.stdin.close()
            with suppress(BrokenPipeError, ConnectionResetError):
                await self._process.stdin.wait_closed()
        self._complaints.close()


class _FilePlayback:
    """A process that is given a WAV file, once it is complete."""

    def __init__(self, command: PlayerCommand, sample_rate: int) -> None:
        self._command = command
        self.sample_rate = sample_rate
        handle, path = tempfile.mkstemp(suffix=".wav", prefix="antiphon-")
        os.close(handle)
        self._recorder = WavRecorder(path)
        self._process: Process | None = None

    @classmethod
    async def start(cls, command: PlayerCommand, sample_rate: int) -> Self:
        return cls(command, sample_rate)

    async def play(self, sound: Sound) -> None:
        self._recorder.write(sound)

    async def finish(self) -> None:
        self._recorder.close()
        command_line = self._command.command_line(rate=self.sample_rate, file=str(self._recorder.path))
        self._process, complaints = await _spawn(command_line, stdin=DEVNULL)
        with complaints:
            if await self._process.wait():
                raise _gave_up(self._process, complaints)

    async def stop(self) -> None:
        if self._process is not None:
            await _end(self._process)
        self._recorder.close()
        self._recorder.path.unlink(missing_ok=True)


async def _spawn(command_line: list[str], *, stdin: int) -> tuple[Process, BinaryIO]:
    # What it says goes to a file, not a pipe, which it could fill and then wait for somebody to read.
    complaints = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `stop`
    try:
        process = await asyncio.create_subprocess_exec(*command_line, stdin=stdin, stdout=DEVNULL, stderr=complaints)
    except OSError as error:
        complaints.close()
        raise PlayerError(f"{command_line[0]} cannot be started: {error.strerror or error}") from error
    return process, complaints


async def _end(process: Process) -> None:
    if process.returncode is None:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


def _gave_up(process: Process, complaints: BinaryIO) -> PlayerError:
    complaints.seek(0)
    said = complaints.read(_MESSAGE_BYTES).decode(errors="replace").strip()
    return PlayerError(f"the player ended with status {process.returncode}{': ' if said else ''}{said}")
