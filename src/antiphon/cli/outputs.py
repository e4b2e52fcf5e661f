"""Where a command's audio goes: a file, the loudspeaker, both."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from antiphon.client.events import Audio
from antiphon.client.player import Player
from antiphon.client.recorder import WavRecorder


class Outputs:
    """Takes audio and passes it to every place that was asked for."""

    def __init__(self, recorder: WavRecorder | None, player: Player | None) -> None:
        self._recorder = recorder
        self._player = player

    async def take(self, audio: Audio) -> None:
        """Write and play a chunk; the file first, so that it is complete however slow the player is."""
        if self._recorder is not None:
            self._recorder.write(audio)
        if self._player is not None:
            await self._player.play(audio)


@asynccontextmanager
async def outputs(path: Path | None, *, play: bool) -> AsyncIterator[Outputs]:
    """Open the places; leaving waits until everything has been played.

    Raises:
        PlayerError: there is no player, or no sound device.
        OSError: the file cannot be written.
    """
    async with AsyncExitStack() as stack:
        recorder = stack.enter_context(WavRecorder(path)) if path is not None else None
        player = await stack.enter_async_context(Player()) if play else None
        yield Outputs(recorder, player)
