"""What every benchmark does besides measuring: options, a table, bars, a JSON file, an exit status."""

import argparse
import json
import math
import os
import platform
import resource
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path

import psutil

_PACKAGES = ("antiphon", "hibari-tts", "onnxruntime", "numpy", "uvicorn", "websockets", "starlette")


@dataclass(frozen=True, slots=True)
class Options:
    """What was asked for on the command line.

    Attributes:
        quick: a smoke test: few repetitions, and a bar that is missed fails nothing.
        json: the file to write the figures to.
    """

    quick: bool
    json: Path | None

    def times(self, full: int, quick: int) -> int:
        """How often to repeat something."""
        return quick if self.quick else full


def parse_options(description: str, arguments: Sequence[str] | None = None) -> Options:
    """Read the options that all benchmarks share; the first paragraph of `description` is their help."""
    parser = argparse.ArgumentParser(Path(sys.argv[0]).name, description=description.partition("\n\n")[0])
    parser.add_argument("--quick", action="store_true", help="few repetitions; bars are shown, not enforced")
    parser.add_argument(
        "--json", type=Path, metavar="DIR", help="write the figures here, to a file of the script's name"
    )
    given = parser.parse_args(arguments)
    return Options(given.quick, given.json and given.json / f"{Path(parser.prog).stem}.json")


@dataclass(frozen=True, slots=True)
class Bar:
    """A figure and what it may be at most."""

    name: str
    value: float
    limit: float
    unit: str

    @property
    def met(self) -> bool:
        """Whether the figure is within the limit."""
        return self.value <= self.limit

    def __str__(self) -> str:
        verdict = "met" if self.met else "MISSED"
        return f"{self.name}: {self.value:.2f} {self.unit}, at most {self.limit:g} {self.unit}: {verdict}"


class Others:
    """What processes other than this one and the children it has waited for use of the machine, from now on."""

    def __init__(self) -> None:
        self._began, self._busy_s = time.monotonic(), _others_s()

    def cores(self) -> float:
        """Cores they used on average; what exceeds the machine's makes every figure worse."""
        return max(0.0, _others_s() - self._busy_s) / (time.monotonic() - self._began)


def _others_s() -> float:
    times = psutil.cpu_times()
    ours = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return float(times.user + times.nice + times.system) - sum(usage.ru_utime + usage.ru_stime for usage in ours)


@dataclass(slots=True)
class Report:
    """Figures of one benchmark, as they come in.

    Attributes:
        title: one line.
        options: of the command line.
        tables: lists of rows by name; the rows of one table have the same keys.
        bars: what has to be reached.
    """

    title: str
    options: Options
    tables: dict[str, list[dict[str, str | float]]] = field(default_factory=dict)
    bars: list[Bar] = field(default_factory=list)
    _others: Others = field(default_factory=Others)

    def row(self, table: str, **figures: str | float) -> None:
        """Add a row to a table."""
        self.tables.setdefault(table, []).append(figures)

    def bar(self, name: str, value: float, limit: float, unit: str) -> None:
        """Add a bar."""
        self.bars.append(Bar(name, value, limit, unit))

    def finish(self) -> int:
        """Print everything, write the JSON file, and return the exit status."""
        others = f"others used {self._others.cores():.2f} cores meanwhile"
        print(f"{self.title}\n{machine()}\n{others}")
        for name, rows in self.tables.items():
            print(f"\n{name}")
            _print_table(rows)
        print()
        for bar in self.bars:
            print(bar)
        if self.options.json is not None:
            self.options.json.parent.mkdir(parents=True, exist_ok=True)
            self.options.json.write_text(json.dumps(self._as_json(), indent=1), encoding="utf-8")
        return int(not self.options.quick and not all(bar.met for bar in self.bars))

    def _as_json(self) -> dict[str, object]:
        return {
            "title": self.title,
            "quick": self.options.quick,
            "machine": machine(),
            "others_cores": self._others.cores(),
            "tables": self.tables,
            "bars": [{**asdict(bar), "met": bar.met} for bar in self.bars],
        }


def machine() -> str:
    """One line about where this ran: cores, their load before, and versions."""
    packages = " ".join(f"{name} {version(name)}" for name in _PACKAGES)
    load = os.getloadavg()[0]
    return (
        f"{os.cpu_count()} cores, load {load:.1f}, {platform.machine()}, Python {platform.python_version()}, {packages}"
    )


def quantile(values: Sequence[float], share: float) -> float:
    """The smallest of `values` that at least `share` of them do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def _print_table(rows: list[dict[str, str | float]]) -> None:
    cells = [list(rows[0]), *([_cell(value) for value in row.values()] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for line in cells:
        first, *others = (
            cell.ljust(width) if at == 0 else cell.rjust(width) for at, (cell, width) in _numbered(line, widths)
        )
        print("  ".join([first, *others]))


def _numbered(line: list[str], widths: list[int]) -> list[tuple[int, tuple[str, int]]]:
    return list(enumerate(zip(line, widths, strict=True)))


def _cell(value: str | float) -> str:
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def note(text: str) -> None:
    """Say on standard error what is going on; a run takes a while."""
    print(text, file=sys.stderr, flush=True)
