"""What an utterance is doing, shown while it does it."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from antiphon.cli.words import printable
from antiphon.client.events import Audio, Event, UnitDone, UnitSkipped, UnitStarted

REFRESHES_PER_S = 12


@dataclass(slots=True)
class _Row:
    state: str = "speaking"
    first_chunk_s: float | None = None
    chunks: int = 0
    bytes: int = 0
    audio_s: float = 0.0


class Progress:
    """A live table on a terminal, a line per marker elsewhere.

    Args:
        console: where to show it.
        text: the whole text, of which the part that has been written is shown bright.
    """

    def __init__(self, console: Console, text: str) -> None:
        self._console = console
        self._text = text
        self._written = 0
        self._rows: list[_Row] = []
        self._started: float | None = None
        self._live = Live(get_renderable=self._render, console=console, refresh_per_second=REFRESHES_PER_S)

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._console.is_terminal:
            self._live.stop()

    async def watch(self, tokens: AsyncIterator[str]) -> AsyncIterator[str]:
        """Pass tokens on and take note of how much has been written."""
        async for token in tokens:
            if self._started is None:
                self._started = self._console.get_time()
            yield token
            self._written += len(token)

    def show(self, event: Event) -> None:
        """Take note of an event."""
        match event:
            case UnitStarted():
                self._rows.append(_Row())
                self._line(f"← audio.start  unit {event.index}  {printable(event.text)}")
            case UnitSkipped():
                self._rows.append(_Row("nothing to say"))
                self._line(f"← nothing      unit {event.index}  {printable(event.text)}")
            case Audio():
                self._take(self._rows[event.unit], event)
            case UnitDone():
                row = self._rows[event.index]
                row.state = "done"
                self._line(
                    f"← audio.done   unit {event.index}  {row.chunks} chunks, {row.bytes} bytes, {row.audio_s:.2f} s"
                )

    def _take(self, row: _Row, audio: Audio) -> None:
        if row.first_chunk_s is None:
            row.first_chunk_s = self._now()
            self._line(f"← first chunk  unit {audio.unit}  {len(audio.data)} bytes")
        row.chunks += 1
        row.bytes += len(audio.data)
        row.audio_s += len(audio.data) / 2 / audio.sample_rate

    def _now(self) -> float:
        return 0.0 if self._started is None else self._console.get_time() - self._started

    def _line(self, line: str) -> None:
        if not self._console.is_terminal:
            written = 100 * self._written // max(1, len(self._text))
            line = f"{self._now():7.3f} s  {written:3d} % written  {line}"
            self._console.print(line, markup=False, highlight=False, soft_wrap=True)

    def _render(self) -> RenderableType:
        text = Text(self._text)
        text.stylize("dim", self._written)
        table = Table("unit", "first chunk", "chunks", "bytes", "audio", "", box=None, header_style="bold")
        for position, row in enumerate(self._rows):
            first = "" if row.first_chunk_s is None else f"{row.first_chunk_s:.3f} s"
            cells = (str(position), first, str(row.chunks), f"{row.bytes:,}", f"{row.audio_s:.2f} s", row.state)
            table.add_row(*cells)
        return Group(text, "", table)
