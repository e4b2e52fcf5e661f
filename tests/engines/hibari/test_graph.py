import contextlib
import subprocess
import sys
from pathlib import Path

import onnx
import pytest
from hibari.voices import voice_path

from antiphon.engines import cache
from antiphon.engines.contract import EngineError
from antiphon.engines.hibari import graph

MODEL = Path(voice_path("heart"))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ANTIPHON_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def forbid_cutting(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_graph: bytes) -> graph.GraphParts:
        raise AssertionError("the graph was cut again")

    monkeypatch.setattr(graph, "_cut", fail)


def test_the_halves_meet_at_the_seam() -> None:
    parts = graph._cut(MODEL.read_bytes())
    encoder, vocoder = onnx.load_from_string(parts.encoder), onnx.load_from_string(parts.vocoder)
    assert [value.name for value in encoder.graph.output] == [graph.SEAM, "f0"]
    assert [value.name for value in vocoder.graph.input] == [graph.SEAM]


def test_the_graph_is_cut_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = graph.load_parts(MODEL)
    assert len(list(folder.iterdir())) == 1
    forbid_cutting(monkeypatch)
    assert graph.load_parts(MODEL) == parts


@pytest.mark.parametrize("damage", ["truncated", "empty", "flipped", "longer"])
def test_a_damaged_cache_is_made_again(folder: Path, damage: str) -> None:
    parts = graph.load_parts(MODEL)
    (file,) = folder.iterdir()
    data = file.read_bytes()
    flipped = data[:1000] + bytes([data[1000] ^ 1]) + data[1001:]
    file.write_bytes({"truncated": data[:-1], "empty": b"", "flipped": flipped, "longer": data + b"x"}[damage])
    assert graph.load_parts(MODEL) == parts
    assert file.read_bytes() == data


def test_another_graph_has_another_file(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph, "_cut", lambda data: graph.GraphParts(data, data))
    for name in ("one", "two"):
        (tmp_path / name).write_bytes(name.encode())
        assert graph.load_parts(tmp_path / name).encoder == name.encode()
    assert len(list(folder.iterdir())) == 2


def test_without_a_place_for_the_cache_it_still_loads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("ANTIPHON_CACHE_DIR", str(tmp_path / "file" / "below"))
    assert graph.load_parts(MODEL).vocoder
    assert "set ANTIPHON_CACHE_DIR" in caplog.text


CUT_WHEN_TOLD = """
import sys
from pathlib import Path
from antiphon.engines.hibari import graph
print("ready", flush=True)
sys.stdin.readline()
assert graph.load_parts(Path(sys.argv[1])).encoder
"""


def test_two_processes_may_cut_at_once(folder: Path) -> None:
    command = [sys.executable, "-c", CUT_WHEN_TOLD, str(MODEL)]
    with contextlib.ExitStack() as stack:
        pair = [
            stack.enter_context(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE))
            for _ in range(2)
        ]
        for process in pair:
            assert process.stdout
            assert process.stdout.readline() == b"ready\n"
        for process in pair:
            assert process.stdin
            process.stdin.write(b"go\n")
            process.stdin.flush()
        for process in pair:
            process.communicate(timeout=60)
    assert [process.returncode for process in pair] == [0, 0]
    (file,) = folder.iterdir()
    assert graph._unpack(file.read_bytes()) is not None


def test_a_graph_that_cannot_be_cut_names_the_version_needed() -> None:
    empty = onnx.helper.make_model(onnx.helper.make_graph([], "empty", [], []))
    with pytest.raises(EngineError, match=r"needs hibari-tts 0\.2\.1"):
        graph._cut(empty.SerializeToString())


def test_missing_weights_say_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="reinstall"):
        graph.load_parts(tmp_path / "nothing.onnx")


def test_a_write_that_fails_leaves_nothing_behind(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_self: Path, _target: Path) -> Path:
        raise OSError("disk full")

    monkeypatch.setattr(Path, "replace", fail)
    cache.write("name", b"data")
    assert list(folder.iterdir()) == []
