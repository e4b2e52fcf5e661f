from pathlib import Path

import pytest

from antiphon.engines import cache


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"ANTIPHON_CACHE_DIR": "/own", "XDG_CACHE_HOME": "/xdg"}, "/own"),
        ({"XDG_CACHE_HOME": "/xdg", "HOME": "/home/me"}, "/xdg/antiphon"),
        ({"HOME": "/home/me"}, "/home/me/.cache/antiphon"),
    ],
)
def test_where_the_cache_is(environment: dict[str, str], expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTIPHON_CACHE_DIR", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert cache.cache_dir() == Path(expected)


def test_what_was_written_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTIPHON_CACHE_DIR", str(tmp_path / "new" / "folder"))
    assert cache.read("name") is None
    cache.write("name", b"one")
    cache.write("name", b"two")
    assert cache.read("name") == b"two"
    assert [path.name for path in (tmp_path / "new" / "folder").iterdir()] == ["name"]
