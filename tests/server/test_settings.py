import os
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr, ValidationError
from pydantic_settings import EnvSettingsSource

from antiphon.engines.contract import EngineError
from antiphon.engines.hibari.engine import MAX_PAUSE_MS, MIN_PAUSE_MS
from antiphon.engines.registry import create
from antiphon.server.app import create_app
from antiphon.server.settings import ServerSettings, SettingsError, unknown_variables
from antiphon.server.speaker import engine_options


@pytest.fixture
def toml(tmp_path: Path) -> Path:
    path = tmp_path / "antiphon.toml"
    path.write_text('port = 1001\nengine = "tone"\npace = "listener"\nmax_lead_ms = 700\n')
    return path


def test_flags_win_over_the_environment_and_that_over_the_file(toml: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTIPHON_PORT", "1002")
    monkeypatch.setenv("ANTIPHON_ENGINE", "hibari")
    settings = ServerSettings.load(toml, port=1003)
    assert settings.port == 1003
    assert settings.engine == "hibari"
    assert settings.listening_pace.max_lead_s == 0.7
    assert settings.listening_pace.mode == "listener"
    assert settings.host == "127.0.0.1"


def test_the_environment_is_read_once_and_by_load_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTIPHON_PORT", "1002")
    assert ServerSettings().port == 8080
    reads: list[EnvSettingsSource] = []
    read = EnvSettingsSource.__call__

    def counting(source: EnvSettingsSource) -> dict[str, Any]:
        reads.append(source)
        return read(source)

    monkeypatch.setattr(EnvSettingsSource, "__call__", counting)
    assert ServerSettings.load().port == 1002
    assert len(reads) == 1


def test_an_empty_variable_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTIPHON_PORT", "")
    monkeypatch.setenv("ANTIPHON_HOST", "")
    settings = ServerSettings.load()
    assert settings.port == 8080
    assert settings.host == "127.0.0.1"
    assert settings.bearer_key() is None


@pytest.mark.parametrize("name", ["ANTIPHON_API_KEY", "antiphon_api_key"])
@pytest.mark.parametrize("value", ["", " \n"])
def test_an_empty_key_is_not_no_key(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError, match="ANTIPHON_API_KEY is blank; set one, or unset the variable"):
        ServerSettings.load()


@pytest.mark.parametrize("key", ["schlüssel", "two words", "line\nbreak", "tab\there", "\x7f", "“quoted”"])
def test_a_key_that_no_client_could_send_is_refused(key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "key"
    path.write_text(key, encoding="utf-8")
    with pytest.raises(SettingsError, match="visible ASCII characters"):
        create_app(ServerSettings.load(engine="tone", api_key_file=path))
    monkeypatch.setenv("ANTIPHON_API_KEY", key)
    with pytest.raises(SettingsError, match="visible ASCII characters"):
        create_app(ServerSettings.load(engine="tone"))


def test_a_variable_that_nothing_reads_is_found_with_the_nearest_that_is(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.upper().startswith("ANTIPHON_")]:
        monkeypatch.delenv(name)
    for name in ("PORT", "API_KEY", "CONFIG", "CACHE_DIR", "STATE_DIR", "PYTHON", "UV", "PROT", "QQQQQ"):
        monkeypatch.setenv(f"ANTIPHON_{name}", "1")
    monkeypatch.setenv("antiphon_engine", "tone")
    assert unknown_variables() == [("ANTIPHON_PROT", "ANTIPHON_PORT"), ("ANTIPHON_QQQQQ", None)]


@pytest.mark.parametrize(
    ("content", "complaint"),
    [("prot = 1", "prot\n  Extra inputs are not permitted"), ("port = 99999", "port\n"), ('pace = "fast"', "pace\n")],
)
def test_a_file_with_a_wrong_name_or_value_is_refused(tmp_path: Path, content: str, complaint: str) -> None:
    path = tmp_path / "antiphon.toml"
    path.write_text(content)
    with pytest.raises(ValidationError, match=complaint):
        ServerSettings.load(path)


@pytest.mark.parametrize("content", ["port =", b"\xff"])
def test_a_file_that_is_no_toml_is_named(tmp_path: Path, content: str | bytes) -> None:
    path = tmp_path / "antiphon.toml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(SettingsError, match=r"cannot read the settings in .*antiphon\.toml"):
        ServerSettings.load(path)
    with pytest.raises(SettingsError, match="No such file"):
        ServerSettings.load(tmp_path / "nothing.toml")


@pytest.mark.parametrize(
    "given",
    [
        {"port": -1},
        {"host": ""},
        {"workers": 0},
        {"max_connections": 0},
        {"chunk_ms": 5},
        {"dialect": "0.29"},
        {"nonsense": 1},
    ],
)
def test_values_have_bounds(given: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        ServerSettings.load(None, **given)


def test_a_key_comes_from_a_file_before_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTIPHON_API_KEY", "from-environment")
    assert ServerSettings.load().bearer_key() == "from-environment"
    path = tmp_path / "key"
    path.write_text("from-file\n")
    assert ServerSettings.load(api_key_file=path).bearer_key() == "from-file"


def test_a_key_that_cannot_be_had_stops_the_server(tmp_path: Path) -> None:
    path = tmp_path / "key"
    settings = ServerSettings.load(engine="tone", api_key_file=path)
    with pytest.raises(SettingsError, match="cannot read the bearer key"):
        create_app(settings)
    path.write_text(" \n")
    with pytest.raises(SettingsError, match="is blank"):
        create_app(settings)
    with pytest.raises(SettingsError, match="is blank"):
        create_app(ServerSettings(engine="tone", api_key=SecretStr(" ")))


def test_a_key_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTIPHON_API_KEY", "sesame")
    settings = ServerSettings.load()
    assert "sesame" not in repr(settings) + str(settings) + settings.model_dump_json()


def test_an_engine_gets_the_settings_that_it_takes() -> None:
    settings = ServerSettings.load(engine="tone", chunk_ms=40, dialect="0.26")
    assert engine_options(settings) == {"chunk_ms": 40, "dialect": "0.26"}
    assert engine_options(ServerSettings.load(engine="hibari", pause_ms=300)) == {"pause_ms": 300}


def test_an_engine_that_is_not_there_or_refuses_its_settings_is_an_error_with_a_sentence() -> None:
    with pytest.raises(EngineError, match="no engine named 'gramophone'"):
        create_app(ServerSettings.load(engine="gramophone"))
    settings = ServerSettings.model_construct(engine="hibari", pause_ms=1)
    with pytest.raises(EngineError, match="pause_ms must be from"):
        create_app(settings)


@pytest.mark.parametrize("pause_ms", [MIN_PAUSE_MS, MAX_PAUSE_MS])
def test_a_pause_that_is_accepted_is_one_that_the_voice_can_make(pause_ms: int) -> None:
    settings = ServerSettings.load(engine="hibari", pause_ms=pause_ms)
    create(settings.engine, **engine_options(settings))
    with pytest.raises(ValidationError):
        ServerSettings.load(pause_ms=pause_ms + (1 if pause_ms == MAX_PAUSE_MS else -1))
