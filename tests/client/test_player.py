import asyncio
import stat
import sys
import time
import wave
from pathlib import Path

import pytest

from antiphon.audio.pcm import PcmChunk
from antiphon.client.errors import PlayerError
from antiphon.client.player import PLAYERS, Player, PlayerCommand, find_player

pytestmark = pytest.mark.anyio

TONE = PcmChunk(b"\1\2" * 1000, 24_000)


class FakePlayer:
    """An executable on an otherwise empty path, that notes what it is called with and what it gets."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def install(self, name: str, body: str = "out.write(sys.stdin.buffer.read())") -> None:
        script = self.folder / name
        script.write_text(
            f"#!{sys.executable} -S\nimport sys, time, shutil\n"
            f"open({str(self.folder / 'arguments')!r}, 'w').write(' '.join(sys.argv[1:]))\n"
            f"out = open({str(self.folder / 'played')!r}, 'wb', buffering=0)\n{body}\n"
        )
        script.chmod(script.stat().st_mode | stat.S_IXUSR)

    @property
    def arguments(self) -> str:
        return (self.folder / "arguments").read_text()

    @property
    def files(self) -> list[str]:
        return sorted(path.name for path in self.folder.iterdir())

    def wait(self) -> None:
        """Until it runs."""
        while not (self.folder / "played").exists():
            time.sleep(0.01)

    @property
    def played(self) -> bytes:
        return (self.folder / "played").read_bytes()


async def leave_early() -> None:
    async with Player() as player:
        await player.play(TONE)
        raise LookupError


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakePlayer:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return FakePlayer(tmp_path)


@pytest.mark.parametrize("command", [player for player in PLAYERS if not player.takes_file])
async def test_every_player_gets_the_rate_and_the_raw_samples(fake: FakePlayer, command: PlayerCommand) -> None:
    fake.install(command.program)
    async with Player() as player:
        assert player.name == command.program
        await player.play(TONE)
        await player.play(TONE)

    assert fake.played == TONE.data * 2
    assert "24000" in fake.arguments
    assert "{" not in fake.arguments


async def test_a_player_of_files_gets_a_file_that_is_removed_afterwards(fake: FakePlayer) -> None:
    fake.install("afplay", "shutil.copyfileobj(open(sys.argv[1], 'rb'), out)")
    async with Player() as player:
        await player.play(TONE)
        await player.play(TONE)

    with wave.open(str(fake.folder / "played")) as file:
        assert file.readframes(5000) == TONE.data * 2
    assert fake.files == ["afplay", "arguments", "played"]


async def test_a_player_of_files_is_not_started_when_one_leaves_early(fake: FakePlayer) -> None:
    fake.install("afplay")
    with pytest.raises(LookupError):
        await leave_early()

    assert fake.files == ["afplay"]


async def test_sound_servers_are_preferred(fake: FakePlayer) -> None:
    for name in ("ffplay", "aplay", "pacat"):
        fake.install(name)

    assert find_player() == PLAYERS[0]


async def test_without_a_player_one_is_told_what_to_install(fake: FakePlayer) -> None:
    assert find_player() is None
    with pytest.raises(PlayerError, match="pacat, pw-cat, aplay, play, ffplay, afplay"):
        Player()


async def test_nothing_is_started_when_nothing_is_played(fake: FakePlayer) -> None:
    fake.install("aplay")
    async with Player():
        pass

    assert not (fake.folder / "arguments").exists()


async def test_leaving_early_falls_silent_at_once(fake: FakePlayer) -> None:
    fake.install("aplay", "time.sleep(60)")
    started_at = time.monotonic()
    with pytest.raises(LookupError):
        await leave_early()

    assert time.monotonic() - started_at < 5


async def test_a_cancelled_listener_falls_silent_at_once(fake: FakePlayer) -> None:
    fake.install("aplay", "time.sleep(60)")

    async def listen() -> None:
        async with Player() as player:
            while True:
                await player.play(TONE)

    listening = asyncio.create_task(listen())
    await asyncio.to_thread(fake.wait)
    started_at = time.monotonic()
    listening.cancel()
    await asyncio.wait({listening})

    assert listening.cancelled()
    assert time.monotonic() - started_at < 5


async def test_a_player_that_has_enough_makes_the_caller_wait_and_not_the_loop(fake: FakePlayer) -> None:
    fake.install("aplay", f"while not __import__('os').path.exists({str(fake.folder / 'go')!r}): time.sleep(0.01)\n"
                          "out.write(sys.stdin.buffer.read())")  # fmt: skip
    async with Player() as player:
        megabyte = PcmChunk(b"\1\0" * 2**19, 24_000)
        playing = asyncio.create_task(player.play(megabyte))
        done, _ = await asyncio.wait({playing}, timeout=0.2)
        assert not done
        (fake.folder / "go").touch()
        await playing

    assert fake.played == megabyte.data


@pytest.mark.parametrize("name", ["aplay", "afplay"])
async def test_a_player_that_gives_up_is_an_error_with_its_own_words(fake: FakePlayer, name: str) -> None:
    fake.install(name, "sys.exit('no such device')")

    async def listen() -> None:
        async with Player() as player:
            for _ in range(1000):
                await player.play(TONE)

    with pytest.raises(PlayerError, match="status 1: no such device"):
        await listen()


async def test_a_player_that_fails_at_the_very_end_is_an_error_too(fake: FakePlayer) -> None:
    fake.install("aplay", "sys.stdin.buffer.read(); sys.exit(3)")

    async def listen() -> None:
        async with Player() as player:
            await player.play(TONE)

    with pytest.raises(PlayerError, match="status 3"):
        await listen()


async def test_a_program_that_is_none_cannot_be_started(fake: FakePlayer) -> None:
    fake.install("aplay")
    (fake.folder / "aplay").write_text("#!/nonexistent/interpreter\n")

    async def listen() -> None:
        async with Player() as player:
            await player.play(TONE)

    with pytest.raises(PlayerError, match="cannot be started"):
        await listen()


async def test_a_change_of_sample_rate_is_refused(fake: FakePlayer) -> None:
    fake.install("aplay")
    async with Player() as player:
        await player.play(TONE)
        with pytest.raises(ValueError, match="24000 samples per second, not 8000"):
            await player.play(PcmChunk(b"\0\0", 8000))
