"""Settings and keys of the local SageMaker."""

from pathlib import Path

import pytest

from antiphon.emulator.endpoints import EndpointSpec
from antiphon.emulator.settings import EmulatorSettings, credentials
from antiphon.emulator.state import EmulatorError, StateFolder

EVERYTHING = """
port = 9443
region = "eu-west-1"
hostnames = ["runtime.sagemaker.eu-west-1.amazonaws.com"]
verify = false
time_scale = 0.01
engine = "tone"

[endpoints.one]
url = "ws://127.0.0.1:8080"
variants = ["blue", "green"]

[endpoints.two]
dialect = "0.30"
"""


@pytest.fixture
def toml(tmp_path: Path) -> Path:
    path = tmp_path / "emulator.toml"
    path.write_text(EVERYTHING)
    return path


def test_the_file_is_read(toml: Path) -> None:
    settings = EmulatorSettings.load(toml)
    assert (settings.port, settings.region, settings.verify, settings.time_scale) == (9443, "eu-west-1", False, 0.01)
    assert settings.hostnames == ("runtime.sagemaker.eu-west-1.amazonaws.com",)
    assert settings.specs == (
        EndpointSpec("one", "http://127.0.0.1:8080", "tone", "0.26", ("blue", "green")),
        EndpointSpec("two", None, "tone", "0.30"),
    )


def test_a_plain_url_is_an_endpoint(toml: Path) -> None:
    toml.write_text("[endpoints]\ncc = 'ws://127.0.0.1:9'\n")
    assert EmulatorSettings.load(toml, ["b"]).specs == (
        EndpointSpec("cc", "http://127.0.0.1:9", "hibari", "0.26"),
        EndpointSpec("b", None, "hibari", "0.26"),
    )


def test_flags_win_over_the_file_and_endpoints_come_beside(toml: Path) -> None:
    settings = EmulatorSettings.load(toml, ["one=ws://127.0.0.1:1", "three"], port=1, engine="hibari")
    assert settings.port == 1
    assert [(spec.name, spec.url, spec.engine) for spec in settings.specs] == [
        ("one", "http://127.0.0.1:1", "hibari"),
        ("two", None, "hibari"),
        ("three", None, "hibari"),
    ]


def test_one_name_is_enough() -> None:
    settings = EmulatorSettings.load(None, ["qwen3-tts"])
    assert (settings.host, settings.port, settings.verify) == ("127.0.0.1", 8443, True)
    assert settings.specs == (EndpointSpec("qwen3-tts", None, "hibari", "0.26", ("AllTraffic",)),)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", r"endpoints: none is named; write --endpoint NAME"),
        ("endpoints = 3", "endpoints"),
        ("port =", "cannot read the settings in .*emulator.toml: "),
        ("port = 'many'\n[endpoints.a]", "port"),
        (
            "colour = 1\n[endpoints.a]",
            r"(?s)flags and .*\n  no such setting: colour; there are: host, port, .*endpoints\n",
        ),
        (
            "[endpoints.a]\nport = 1",
            r"\n  endpoints\.a: no such setting: port; there are: url, engine, dialect, variants\n",
        ),
        ("[endpoints]\na = 3", r"endpoints\.a: write \"ws://HOST:PORT\", or a table"),
        ("[endpoints]\na = 'wss://a'", r"endpoints\.a\.url: .*without TLS"),
        ("time_scale = 0\n[endpoints.a]", "time_scale"),
        ("region = 'Mars'\n[endpoints.a]", "region"),
        ("[endpoints.a]\nurl = 'wss://a'", r"endpoints\.a\.url: .*without TLS"),
        ("[endpoints.a_b]", "no endpoint name"),
        ("[endpoints.a]\ndialect = '1'", r"endpoints\.a\.dialect"),
        ("[endpoints.a]\nvariants = []", r"endpoints\.a\.variants"),
    ],
)
def test_what_does_not_fit_is_explained(text: str, said: str, toml: Path) -> None:
    toml.write_text(text)
    with pytest.raises(EmulatorError, match=said):
        EmulatorSettings.load(toml)


def test_a_file_that_is_not_there_is_explained(tmp_path: Path) -> None:
    with pytest.raises(EmulatorError, match=r"none\.toml: No such file"):
        EmulatorSettings.load(tmp_path / "none.toml")


def test_keys_are_made_once_and_are_their_owners(tmp_path: Path) -> None:
    folder = StateFolder(tmp_path / "one")
    made = credentials(folder)
    assert credentials(folder) == made
    assert credentials(StateFolder(tmp_path / "two")) != made
    assert len(made.access_key_id) == 20
    assert len(made.secret_access_key) == 40
    assert (folder.path / "credentials.json").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    "broken",
    [
        "",
        "[]",
        "{}",
        '{"access_key_id": "a"}',
        '{"access_key_id": 1, "secret_access_key": 2}',
        '{"access_key_id": "a/b", "secret_access_key": "c"}',
        '{"access_key_id": "a", "secret_access_key": "b\\nexport PATH=/"}',
        "[" * 100_000,
    ],
    ids=range(8),
)
def test_broken_keys_are_made_anew(broken: str, tmp_path: Path) -> None:
    folder = StateFolder(tmp_path)
    made = credentials(folder)
    (folder.path / "credentials.json").write_text(broken)
    again = credentials(folder)
    assert again != made
    assert credentials(folder) == again


def test_a_secret_is_not_shown(tmp_path: Path) -> None:
    keys = credentials(StateFolder(tmp_path))
    assert keys.secret_access_key not in repr(keys)
