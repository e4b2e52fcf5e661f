"""What `import antiphon` costs and offers."""

import subprocess
import sys

import pytest

import antiphon
from antiphon import client


def printed(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_importing_it_imports_neither_client_nor_server() -> None:
    code = "import sys, antiphon; print([m for m in sys.modules if m.startswith('antiphon.')])"
    assert printed(code) == "[]\n"


def test_the_client_does_not_import_the_server() -> None:
    code = "import sys, antiphon; antiphon.connect; print([m for m in sys.modules if m.startswith('antiphon.server')])"
    assert printed(code) == "[]\n"


@pytest.mark.parametrize(
    "imported",
    [
        "from antiphon import connect",
        "from antiphon.client import connect",
        "from antiphon.client.voice import connect",
        "import antiphon; connect = antiphon.client.connect",
        "from antiphon import *",
    ],
)
def test_local_is_there_however_the_client_was_imported(imported: str) -> None:
    code = f"""{imported}
import asyncio

async def main():
    async with connect("local:tone") as voice:
        print([type(event).__name__ async for event in voice.say("Hello.")][-1])

asyncio.run(main())"""
    assert printed(code) == "Finished\n"


def test_everything_of_the_client_is_here() -> None:
    for name in client.__all__:
        assert getattr(antiphon, name) is getattr(client, name)
    assert set(client.__all__) < set(dir(antiphon))


@pytest.mark.parametrize("name", ["client", "text", "local"])
def test_submodules_are_there_without_another_import(name: str) -> None:
    assert printed(f"import antiphon; print(antiphon.{name}.__name__)") == f"antiphon.{name}\n"


def test_what_connect_takes_and_returns_has_a_name_here() -> None:
    from antiphon.client import sync  # noqa: PLC0415 - a module that users need not know

    assert antiphon.SyncVoice is sync.Voice
    assert antiphon.SyncUtterance is sync.Utterance
    assert antiphon.connect_sync is sync.connect
    assert antiphon.AutoOptions().max_chars


def test_what_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'sing'"):
        antiphon.sing  # noqa: B018 - looking is the test
