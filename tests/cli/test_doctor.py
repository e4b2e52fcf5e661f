"""`antiphon doctor`, check by check."""

import socket
from pathlib import Path
from typing import Any

import pytest
from tests.cli.command import antiphon

from antiphon.cli import doctor
from antiphon.cli.doctor import Finding
from antiphon.engines.contract import EngineError
from antiphon.engines.tone import ToneEngine
from antiphon.server.settings import ServerSettings


class BrokenEngine(ToneEngine):
    """Its native library is not what it should be."""

    def load(self) -> None:
        raise AttributeError("onnxruntime has no attribute 'InferenceSession'")


class UnreadyEngine(ToneEngine):
    """It says itself what it lacks."""

    def load(self) -> None:
        raise EngineError("weights missing: pip install them")


def test_what_others_said_is_shown_as_they_said_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    doctor._print([Finding("engine hibari", "failed", "[/dev/snd]", "pip install 'hibari-tts[fast]'")])

    shown = capsys.readouterr().out
    assert "[/dev/snd]" in shown
    assert "hibari-tts[fast]" in shown


def test_nothing_is_cut_off_on_a_narrow_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    path = "/a/folder/deep/inside/of/others/that/is/the/cache"
    doctor._print([Finding("cache", "warning", path, "set it to one that can be written")])

    shown = capsys.readouterr().out
    assert "…" not in shown
    assert set(path) <= set(shown)


def test_ports_in_use_are_told_with_the_command_that_would_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        monkeypatch.setattr(doctor, "PORTS", {port: "emulate up"})
        [finding] = doctor._ports()

    assert (finding.check, finding.status) == (f"port {port}", "warning")
    assert finding.advice == "antiphon emulate up --port 0"


def test_the_ports_are_those_of_the_commands() -> None:
    assert {
        port: command for port, command in doctor.PORTS.items() if f"default: {port}" in shown_help(command)
    } == doctor.PORTS


def shown_help(command: str) -> str:
    return antiphon(*command.split(), "--help").stdout


def engines(monkeypatch: pytest.MonkeyPatch, **made: Any) -> dict[str, Finding]:
    monkeypatch.setattr(doctor, "engine_names", lambda: tuple(made))
    monkeypatch.setattr(doctor, "create", lambda name: made[name])
    return {finding.check.removeprefix("engine "): finding for finding in doctor._engines()}


def test_an_engine_that_breaks_is_a_finding_and_the_next_one_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    findings = engines(monkeypatch, broken=BrokenEngine(), unready=UnreadyEngine(), tone=ToneEngine())

    assert [finding.status for finding in findings.values()] == ["warning", "warning", "ok"]
    assert findings["broken"].advice == "AttributeError: onnxruntime has no attribute 'InferenceSession'"
    assert findings["unready"].advice == "weights missing: pip install them"


def test_speech_cannot_work_without_the_servers_default_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "DEFAULT_ENGINE", "other")
    findings = engines(monkeypatch, hibari=UnreadyEngine(), other=UnreadyEngine())

    assert {name: finding.status for name, finding in findings.items()} == {"hibari": "warning", "other": "failed"}


def test_the_default_engine_is_that_of_the_server() -> None:
    assert ServerSettings.model_construct().engine == doctor.DEFAULT_ENGINE


def test_extras_are_there_or_one_is_told_what_they_are_for(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [(finding.check, finding.status) for finding in doctor._extras()] == [
        ("extra emulator", "ok"),
        ("extra sagemaker", "ok"),
        ("extra ui", "ok"),
    ]
    monkeypatch.setitem(doctor.EXTRAS, "emulator", ("no-such-package", "a local SageMaker"))
    missing = next(doctor._extras())
    assert (missing.status, missing.found) == ("warning", "not installed")
    assert missing.advice == "for a local SageMaker: pip install 'antiphon[emulator]'"


def sound(monkeypatch: pytest.MonkeyPatch, folder: Path, script: str) -> Finding:
    player = folder / "aplay"
    player.write_text(f"#!/bin/sh\n{script}\n")
    player.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))
    [finding] = doctor._sound()
    return finding


def test_sound_works_when_silence_was_played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    finding = sound(monkeypatch, tmp_path, f"/bin/cat > {tmp_path}/played")

    assert finding.status == "ok"
    assert finding.found.startswith("aplay played 50 ms of silence")
    assert (tmp_path / "played").read_bytes() == bytes(2400)


def test_a_player_without_a_device_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    finding = sound(monkeypatch, tmp_path, "echo 'no such device' >&2; exit 1")

    assert finding.status == "warning"
    assert "aplay does not play" in finding.found
    assert "no such device" in finding.found


def test_a_player_that_hangs_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "SOUND_TIMEOUT_S", 0.2)
    finding = sound(monkeypatch, tmp_path, "exec /bin/sleep 60")

    assert finding.status == "warning"
    assert "did not end within 0.2 s" in finding.found


def test_without_a_player_one_is_told_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    [finding] = doctor._sound()

    assert finding.found == "no player"
    assert "pacat" in finding.advice


def cache(monkeypatch: pytest.MonkeyPatch, folder: str) -> Finding:
    monkeypatch.setenv("ANTIPHON_CACHE_DIR", folder)
    [finding] = doctor._cache()
    return finding


def test_a_cache_that_can_be_written_is_left_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    finding = cache(monkeypatch, str(tmp_path))

    assert finding.status == "ok"
    assert "MB free" in finding.found
    assert list(tmp_path.iterdir()) == []


def test_a_cache_that_cannot_be_written_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    finding = cache(monkeypatch, "/dev/null/cache")

    assert finding.status == "warning"
    assert "ANTIPHON_CACHE_DIR" in finding.advice


def test_a_user_without_a_home_has_no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(doctor, "cache_dir", homeless)
    [finding] = doctor._cache()

    assert finding.status == "warning"
    assert "home directory" in finding.found
