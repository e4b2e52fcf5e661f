"""`antiphon say`."""

import json
import os
import re
import subprocess
import sys
import time
import wave
from pathlib import Path

import pytest
from tests.cli.command import antiphon, assert_a_sentence

from antiphon.cli.say import say
from antiphon.engines.registry import create
from antiphon.engines.tone import tone_pcm


def _pcm(path: Path) -> bytes:
    with wave.open(str(path)) as recording:
        return bytes(recording.readframes(recording.getnframes()))


def test_the_examples_in_the_help_name_voices_that_there_are() -> None:
    named = set(re.findall(r"--voice ([\w-]+)", str(say.__doc__)))
    assert named
    assert named <= {voice.name for voice in create("hibari").info.voices}


def test_an_argument_is_said(tmp_path: Path) -> None:
    result = antiphon("say", "Hello there.", "--to", "local:tone", "-o", "out.wav", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert _pcm(tmp_path / "out.wav") == tone_pcm("Hello there.")
    assert "Hello there." in result.stderr


def test_a_file_is_said(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("Dear all.\n")
    result = antiphon("say", "-f", "letter.txt", "--to", "local:tone", "-o", "out.wav", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert _pcm(tmp_path / "out.wav") == tone_pcm("Dear all.")


def test_standard_input_is_said(tmp_path: Path) -> None:
    result = antiphon("say", "--to", "local:tone", "-o", "out.wav", stdin="From a pipe. ", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert _pcm(tmp_path / "out.wav") == tone_pcm("From a pipe.")


def test_bytes_that_are_not_text_do_not_break_it(tmp_path: Path) -> None:
    result = antiphon("say", "--to", "local:tone", "-o", "out.wav", stdin=b"Caf\xe9 time.", cwd=tmp_path)
    assert result.returncode == 0, result.stderr


def test_a_pipe_is_spoken_while_it_is_still_open(tmp_path: Path) -> None:
    out = tmp_path / "out.wav"
    process = subprocess.Popen(
        [sys.executable, "-m", "antiphon", "say", "--to", "local:tone", "-o", str(out)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdin is not None
    try:
        process.stdin.write(b"This is the first sentence. And this is the ")
        process.stdin.flush()
        wanted = tone_pcm("This is the first sentence.")
        deadline = time.monotonic() + 30
        while not (out.exists() and _pcm(out) == wanted):
            assert time.monotonic() < deadline, "the first sentence was not spoken before the end of the text"
            time.sleep(0.05)
    finally:
        process.stdin.close()
        assert process.wait(30) == 0


def test_statistics_as_json_are_all_that_is_printed(tmp_path: Path) -> None:
    result = antiphon("say", "Hello.", "--to", "local:tone", "-o", "out.wav", "--json", cwd=tmp_path)
    statistics = json.loads(result.stdout)
    assert statistics["bytes"] == len(tone_pcm("Hello."))
    assert statistics["units"] == 1
    assert result.stderr == ""


def test_text_and_file_together_are_refused() -> None:
    assert "not both" in assert_a_sentence(antiphon("say", "Hello.", "-f", "x.txt", "-o", "x.wav"), 2)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    assert "cannot read" in assert_a_sentence(antiphon("say", "-f", "none.txt", "-o", "x.wav", cwd=tmp_path), 2)


def test_neither_heard_nor_written(tmp_path: Path) -> None:
    assert "-o FILE" in assert_a_sentence(antiphon("say", "Hello.", "--no-play", cwd=tmp_path), 2)


def test_without_a_player_it_says_what_to_do(tmp_path: Path) -> None:
    empty = tmp_path / "bin"
    empty.mkdir()
    assert "-o FILE" in assert_a_sentence(antiphon("say", "Hello.", cwd=tmp_path, PATH=str(empty)), 1)


@pytest.mark.parametrize("target", ["127.0.0.1:8080", "http://127.0.0.1:8080", "gopher://x", "", "local:nobody"])
def test_a_target_that_is_none(target: str, tmp_path: Path) -> None:
    assert_a_sentence(antiphon("say", "Hello.", "--to", target, "-o", "x.wav", cwd=tmp_path), 1)
    assert not (tmp_path / "x.wav").exists()


def test_a_voice_that_is_none(tmp_path: Path) -> None:
    result = antiphon("say", "Hello.", "--to", "local:tone", "--voice", "bob", "-o", "x.wav", cwd=tmp_path)
    assert "Supported: aiden" in assert_a_sentence(result, 1)


def test_it_plays_through_the_systems_player(tmp_path: Path) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    player = folder / "aplay"
    player.write_text(f"#!/bin/sh\n/bin/cat > {tmp_path}/played\n")
    player.chmod(0o755)
    result = antiphon("say", "Hello there.", "--to", "local:tone", cwd=tmp_path, PATH=f"{folder}{os.pathsep}/nowhere")
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "played").read_bytes() == tone_pcm("Hello there.")
