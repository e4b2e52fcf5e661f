import asyncio
import io
import os
import wave
from pathlib import Path

import pytest

from antiphon.audio.wavfile import UNKNOWN_SIZE, wav_header
from antiphon.cli.outputs import WavStream, outputs
from antiphon.client.errors import SpeechError
from antiphon.client.events import Audio

pytestmark = pytest.mark.anyio

LONG = bytes(range(256)) * 1024  # more than a pipe holds


async def test_a_stream_is_a_wav_file_of_unknown_length_and_waits_for_its_reader() -> None:
    reading, writing = os.pipe()
    stream = WavStream(writing)
    ticked = asyncio.Event()
    write = asyncio.create_task(stream.write(Audio(LONG, 24_000, 0)))
    asyncio.get_running_loop().call_later(0.01, ticked.set)
    await ticked.wait()  # the event loop goes on while the pipe is full
    assert not write.done()

    with os.fdopen(reading, "rb") as reader:
        head = await asyncio.to_thread(reader.read, 44 + len(LONG))
        await write
        await stream.write(Audio(b"\1\0", 24_000, 1))
        os.close(writing)
        data = head + reader.read()

    assert data == wav_header(24_000) + LONG + b"\1\0"
    with wave.open(io.BytesIO(data)) as recording:
        assert recording.getframerate() == 24_000
        assert recording.getnframes() >= UNKNOWN_SIZE // 2


async def test_a_reader_that_is_gone_ends_it() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        with pytest.raises(BrokenPipeError):
            await WavStream(writing).write(Audio(b"\1\0", 24_000, 0))
    finally:
        os.close(writing)


async def test_a_stream_into_a_file_is_written(tmp_path: Path) -> None:
    with (tmp_path / "a.wav").open("wb") as file:
        await WavStream(file.fileno()).write(Audio(LONG, 8000, 0))

    assert (tmp_path / "a.wav").read_bytes() == wav_header(8000) + LONG


async def test_a_server_that_changes_its_sample_rate_is_an_error_of_speech(tmp_path: Path) -> None:
    async with outputs(tmp_path / "a.wav", play=False) as sound:
        await sound.take(Audio(b"\1\0", 24_000, 0))
        with pytest.raises(SpeechError, match="changed its sample rate"):
            await sound.take(Audio(b"\1\0", 8000, 1))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
async def test_a_file_that_cannot_be_written_is_named() -> None:
    with pytest.raises(OSError, match="/dev/full"):
        async with outputs(Path("/dev/full"), play=False) as sound:
            await sound.take(Audio(b"\1\0", 24_000, 0))
