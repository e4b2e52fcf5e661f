import os
import signal
import subprocess
import sys
import wave
from pathlib import Path

import pytest
import soundfile

from antiphon.audio.pcm import PcmChunk
from antiphon.client.errors import RecordingFullError
from antiphon.client.events import Audio
from antiphon.client.recorder import WavRecorder


def samples(path: Path) -> bytes:
    """The samples of a file, on which two independent readers agree."""
    with wave.open(str(path)) as file:
        assert (file.getnchannels(), file.getsampwidth()) == (1, 2)
        data: bytes = file.readframes(file.getnframes())
    read, rate = soundfile.read(path, dtype="int16")
    assert read.tobytes() == data
    assert rate == file.getframerate()
    return data


def test_the_file_can_be_read_after_every_write(tmp_path: Path) -> None:
    path = tmp_path / "speech.wav"
    written = b""
    with WavRecorder(path) as recorder:
        assert not path.exists()
        for size in (1, 0, 100, 7, 5000):
            data = bytes(range(256)) * 40
            recorder.write(Audio(data[: 2 * size], 22_050, unit=0))
            written += data[: 2 * size]
            assert samples(path) == written
            assert recorder.bytes == len(written)

    assert samples(path) == written
    assert path.stat().st_size == 44 + len(written)


def test_a_process_that_is_killed_leaves_a_file_that_plays(tmp_path: Path) -> None:
    path = tmp_path / "speech.wav"
    script = (
        "import sys\n"
        "from antiphon.audio.pcm import PcmChunk\n"
        "from antiphon.client.recorder import WavRecorder\n"
        "recorder = WavRecorder(sys.argv[1])\n"
        "print(flush=True)\n"
        "while True: recorder.write(PcmChunk(bytes(200), 8000))\n"
    )
    with subprocess.Popen([sys.executable, "-c", script, str(path)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        while not path.exists() or path.stat().st_size < 100_000:
            assert process.poll() is None
        os.kill(process.pid, signal.SIGKILL)
        process.wait()

    assert len(samples(path)) >= 99_000


def test_a_file_that_dies_between_samples_and_header_plays_up_to_the_write_before(tmp_path: Path) -> None:
    path = tmp_path / "speech.wav"
    with WavRecorder(path) as recorder:
        recorder.write(PcmChunk(b"\1\0" * 10, 8000))
    with path.open("ab") as file:
        file.write(b"\2\0" * 10)

    assert samples(path) == b"\1\0" * 10


def test_a_file_is_replaced_by_the_first_audio_and_not_before(tmp_path: Path) -> None:
    path = tmp_path / "speech.wav"
    path.write_bytes(b"x" * 1000)
    with WavRecorder(path) as recorder:
        pass
    assert path.read_bytes() == b"x" * 1000
    with WavRecorder(str(path)) as recorder:
        recorder.write(PcmChunk(b"\1\0", 8000))
        recorder.close()

    assert samples(path) == b"\1\0"


def test_a_change_of_sample_rate_is_refused(tmp_path: Path) -> None:
    with WavRecorder(tmp_path / "speech.wav") as recorder:
        recorder.write(PcmChunk(b"\1\0", 8000))
        with pytest.raises(ValueError, match="8000 samples per second, not 24000"):
            recorder.write(PcmChunk(b"\1\0", 24_000))


def test_a_full_file_says_so_and_holds_what_fitted(tmp_path: Path) -> None:
    path = tmp_path / "speech.wav"
    with WavRecorder(path, max_bytes=11) as recorder:
        recorder.write(PcmChunk(b"\1\0" * 4, 8000))
        with pytest.raises(RecordingFullError, match="10 bytes"):
            recorder.write(PcmChunk(b"\2\0" * 4, 8000))
        with pytest.raises(RecordingFullError):
            recorder.write(PcmChunk(b"\3\0", 8000))

    assert samples(path) == b"\1\0" * 4 + b"\2\0"


def test_a_wav_file_ends_at_four_gigabytes(tmp_path: Path) -> None:
    path = tmp_path / "speech.wav"
    with WavRecorder(path, max_bytes=2**40) as recorder:
        recorder.write(PcmChunk(b"\1\0", 8000))
        recorder.bytes = 0xFFFFFFFF - 44 - 3  # as if so much had been written; the file is sparse
        with pytest.raises(RecordingFullError):
            recorder.write(PcmChunk(b"\1\0" * 100, 8000))
        size = recorder.bytes
    with wave.open(str(path)) as file:
        assert file.getnframes() * 2 == size
    assert path.stat().st_size == 44 + size < 2**32
