"""Fixtures of the runtime's tests."""

from pathlib import Path

import certifi
import pytest
from tests.emulator.runtime.driving import Certificate

from antiphon.emulator.certificates import LEAF, LEAF_KEY, server_context, trust_bundle
from antiphon.emulator.state import StateFolder


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    folder = StateFolder(tmp_path_factory.mktemp("certificates"))
    server_context(folder)
    whole = trust_bundle(folder).read_text(encoding="utf-8")
    # Without the public authorities: reading them takes longer than a test.
    authority = folder.path / "authority-alone.pem"
    authority.write_text(whole.removeprefix(Path(certifi.where()).read_text(encoding="ascii")), encoding="ascii")
    return Certificate(authority, folder.path / LEAF, folder.path / LEAF_KEY)
