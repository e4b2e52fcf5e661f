import json
from pathlib import Path

import pytest
from benchmarks._report import Options, Report, parse_options

SCRIPTS = sorted(path for path in (Path(__file__).parents[2] / "benchmarks").glob("[!_]*.py"))


def test_each_script_writes_a_file_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for script in ("one.py", "two.py"):
        monkeypatch.setattr("sys.argv", [f"/benchmarks/{script}"])
        report = Report(script, parse_options("What it does.", ["--quick", "--json", str(tmp_path / "new")]))
        report.row("Times", n=3, p50_ms=1.5)
        assert report.finish() == 0
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == ["one.json", "two.json"]
    written = json.loads((tmp_path / "new" / "two.json").read_text())
    assert (written["title"], written["quick"]) == ("two.py", True)
    assert written["tables"] == {"Times": [{"n": 3, "p50_ms": 1.5}]}


@pytest.mark.parametrize(("quick", "status"), [(False, 1), (True, 0)])
def test_a_missed_bar_fails_a_full_run_only(quick: bool, status: int, capsys: pytest.CaptureFixture[str]) -> None:
    report = Report("Bars", Options(quick=quick, json=None))
    report.bar("late", 11.0, 10.0, "ms")
    report.bar("at the bar", 10.0, 10.0, "ms")
    assert report.finish() == status
    shown = capsys.readouterr().out
    assert "late: 11.00 ms, at most 10 ms: MISSED" in shown
    assert "at the bar: 10.00 ms, at most 10 ms: met" in shown


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_every_script_takes_the_shared_options_and_says_what_it_is(script: Path) -> None:
    source = script.read_text(encoding="utf-8")
    assert source.startswith('"""')
    assert source.endswith('if __name__ == "__main__":\n    sys.exit(main(parse_options(__doc__)))\n')
    assert "argparse" not in source
