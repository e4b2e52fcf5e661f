import io

from rich.console import Console

from antiphon.cli.progress import Progress
from antiphon.client.events import Audio, UnitDone, UnitSkipped, UnitStarted


def test_units_that_were_skipped_keep_their_place() -> None:
    shown = io.StringIO()
    progress = Progress(Console(file=shown, width=200), "… Hi.")
    for event in (
        UnitSkipped(0, "…", 0, 1),
        UnitStarted(1, "Hi\x1b[2J.", 2, 5, 24_000),
        Audio(b"\1\0", 24_000, 1),
        UnitDone(1, 2, 5, 0.1),
    ):
        progress.show(event)

    lines = [line.partition("written  ")[2] for line in shown.getvalue().splitlines()]
    assert lines == [
        "← nothing      unit 0  …",
        r"← audio.start  unit 1  Hi\x1b[2J.",
        "← first chunk  unit 1  2 bytes",
        "← audio.done   unit 1  1 chunks, 2 bytes, 0.00 s",
    ]
