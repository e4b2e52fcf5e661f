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

from antiphon.audio.wavfile import wav_header
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


@pytest.mark.parametrize("file", ["bad.txt", None])
def test_bytes_that_are_not_text_are_replaced_and_that_is_said_once(file: str | None, tmp_path: Path) -> None:
    said = b"Caf\xe9 \xe9 time."
    (tmp_path / "bad.txt").write_bytes(said)
    source = ["-f", file] if file else []
    result = antiphon("say", *source, "--to", "local:tone", "-o", "out.wav", stdin=said, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert _pcm(tmp_path / "out.wav") == tone_pcm("Caf\ufffd \ufffd time.")
    assert result.stderr.count(f"{file or 'standard input'} is not all UTF-8") == 1


@pytest.mark.parametrize("source", [[], ["-f", "cut.txt"]])
def test_text_that_ends_within_a_character_is_replaced_too(source: list[str], tmp_path: Path) -> None:
    (tmp_path / "cut.txt").write_bytes("Café".encode()[:-1])
    result = antiphon("say", *source, "--to", "local:tone", "-o", "o.wav", stdin="Café".encode()[:-1], cwd=tmp_path)
    assert "not all UTF-8" in result.stderr
    assert _pcm(tmp_path / "o.wav") == tone_pcm("Caf\ufffd")


@pytest.mark.parametrize("text", ["", "🙂", " … "])
def test_nothing_to_say_is_a_failure_and_leaves_the_older_file_alone(text: str, tmp_path: Path) -> None:
    (tmp_path / "out.wav").write_bytes(b"older")
    result = antiphon("say", text, "--to", "local:tone", "-o", "out.wav", cwd=tmp_path)
    assert assert_a_sentence(result, 1) == "antiphon: there was nothing to say in that text; out.wav was not written\n"
    assert (tmp_path / "out.wav").read_bytes() == b"older"


def test_nothing_to_say_is_a_failure_with_statistics_too(tmp_path: Path) -> None:
    result = antiphon("say", "🙂", "--to", "local:tone", "-o", "out.wav", "--json", cwd=tmp_path)
    assert json.loads(result.stdout)["audio_s"] == 0
    assert "nothing to say" in result.stderr
    assert result.returncode == 1


def test_a_wav_stream_goes_to_standard_output() -> None:
    result = subprocess.run(
        [sys.executable, "-m", "antiphon", "say", "Hello there.", "--to", "local:tone", "-o", "-"],
        capture_output=True,
        check=True,
    )
    assert result.stdout == wav_header(24_000) + tone_pcm("Hello there.")


def test_standard_output_takes_one_thing(tmp_path: Path) -> None:
    result = antiphon("say", "Hello.", "--to", "local:tone", "-o", "-", "--json", cwd=tmp_path)
    assert "not both" in assert_a_sentence(result, 2)


@pytest.mark.parametrize(
    ("command", "output", "problem"),
    [
        (["say", "Hello."], ".", "it is a folder"),
        (["say", "Hello."], "no/such/a.wav", "there is no folder no/such"),
        (["say", "Hello."], "pipe", "it is a pipe"),
        (["demo"], "no/such/a.wav", "there is no folder no/such"),
    ],
)
def test_where_nothing_can_be_written_is_said_before_anything_is_loaded(
    command: list[str], output: str, problem: str, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "pipe")
    # Of a server that is not there nothing is heard: nobody came to ask for it.
    said = assert_a_sentence(antiphon(*command, "--to", "ws://127.0.0.1:1", "-o", output, cwd=tmp_path), 2)
    assert said.startswith(f"antiphon: cannot write {output}: {problem}")


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


@pytest.mark.parametrize(
    ("flags", "meant"),
    [
        (["--to", "local:tome"], "no engine named 'tome'; available: hibari, tone; did you mean tone?"),
        (["--to", "local:tone", "--voice", "rian"], "; did you mean ryan?"),
        (["--to", "wss//127"], "did you mean wss://127 ?"),
    ],
)
def test_what_was_mistyped_is_guessed(flags: list[str], meant: str, tmp_path: Path) -> None:
    assert meant in assert_a_sentence(antiphon("say", "Hello.", *flags, "-o", "x.wav", cwd=tmp_path), 1)


def test_it_plays_through_the_systems_player(tmp_path: Path) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    player = folder / "aplay"
    player.write_text(f"#!/bin/sh\n/bin/cat > {tmp_path}/played\n")
    player.chmod(0o755)
    result = antiphon("say", "Hello there.", "--to", "local:tone", cwd=tmp_path, PATH=f"{folder}{os.pathsep}/nowhere")
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "played").read_bytes() == tone_pcm("Hello there.")
