"""The root of the command line, and the small commands."""

import json
import re

import pytest
from tests.cli.command import antiphon, assert_a_sentence

import antiphon as package


def test_help_names_every_command() -> None:
    shown = antiphon("--help")
    assert shown.returncode == 0
    for command in ("demo", "say", "serve", "voices", "emulate", "doctor"):
        assert re.search(rf"\b{command}\b", shown.stdout)


@pytest.mark.parametrize("command", ["say", "page", "demo"])
def test_help_names_every_kind_of_target(command: str) -> None:
    shown = antiphon(command, "--help").stdout
    assert "ws://HOST:PORT" in shown
    assert "sagemaker://ENDPOINT" in shown


def test_version() -> None:
    assert antiphon("--version").stdout == f"antiphon {package.__version__}\n"


def test_an_unknown_command_is_a_usage_error() -> None:
    assert_a_sentence(antiphon("sing"), 2)


def test_voices_show_what_is_derived_and_what_an_alias() -> None:
    rows = {(row["engine"], row["voice"]): row for row in json.loads(antiphon("voices", "--json").stdout)}
    heart = rows["hibari", "heart"]
    assert heart["default"]
    assert heart["derived_from"] is None
    assert "vivian" in heart["aliases"]
    derived = [row for (engine, _), row in rows.items() if engine == "hibari" and row["derived_from"]]
    assert len(derived) >= 2
    shown = antiphon("voices", "--engine", "hibari").stdout
    assert "derived from heart" in shown
    assert "vivian" in shown


def test_voices_of_an_engine_that_is_not_there() -> None:
    assert "available" in assert_a_sentence(antiphon("voices", "--engine", "nobody"), 1)
    assert "did you mean tone?" in assert_a_sentence(antiphon("voices", "--engine", "tonne"), 1)


def test_the_doctor_finds_a_voice_that_works() -> None:
    result = antiphon("doctor", "--json")
    findings = {finding["check"]: finding for finding in json.loads(result.stdout)}
    assert result.returncode == 0
    assert findings["engine hibari"]["status"] == "ok"
    assert "real time" in findings["engine hibari"]["found"]
    assert findings["python"]["status"] == "ok"
    shown = antiphon("doctor")
    assert "engine hibari" in shown.stdout
