"""What `import antiphon` costs and offers."""

import subprocess
import sys

import pytest

import antiphon
from antiphon import client


def test_importing_it_imports_neither_client_nor_server() -> None:
    code = "import sys, antiphon; print([m for m in sys.modules if m.startswith('antiphon.')])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout == "[]\n"


def test_the_client_does_not_import_the_server() -> None:
    code = "import sys, antiphon; antiphon.connect; print([m for m in sys.modules if m.startswith('antiphon.server')])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout == "[]\n"


def test_everything_of_the_client_is_here() -> None:
    for name in client.__all__:
        assert getattr(antiphon, name) is getattr(client, name)


def test_what_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'sing'"):
        antiphon.sing  # noqa: B018 - looking is the test
