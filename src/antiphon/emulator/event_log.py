"""What happened on the wire, as JSON lines: sizes and times, never text or audio."""

import asyncio
import json
import os
import time
from collections.abc import Callable, Iterator
from json.encoder import encode_basestring_ascii
from pathlib import Path
from types import NoneType, TracebackType
from typing import Any, Self, TextIO

# An event is on disk after so long at most, while an event loop runs.
FLUSH_S = 0.05
MAX_WAITING = 4096
# Of each of the two files: the current one, and the one before it.
MAX_BYTES = 32 * 1024 * 1024
POLL_S = 0.1

type Event = dict[str, Any]


class EventLog:
    """Writes events to a file, many at once; a disk that takes none costs the events, not the streams.

    Each line has ``time`` (seconds since 1970), ``event``, and the fields of that event. When the file is full it becomes
    the older one, and what was older is dropped. Writing never fails: what could not be written is counted, and said in
    an event ``log.dropped`` as soon as that is possible.

    Args:
        path: of the file; what it has from before stays.
        max_bytes: of each of both files, give or take what waits at once.
    """

    def __init__(self, path: Path, max_bytes: int = MAX_BYTES) -> None:
        self._path = path
        self._max_bytes = max_bytes
        self._waiting: list[tuple[float, str, dict[str, Any]]] = []
        self._flush: asyncio.TimerHandle | None = None
        self._dropped = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def write(self, event: str, **fields: Any) -> None:
        """Take note of an event; encoding it can wait until nobody waits for a frame."""
        waiting = self._waiting
        waiting.append((time.time(), event, fields))
        if len(waiting) >= MAX_WAITING:
            self.flush()
        elif self._flush is None:
            self._flush_later()

    def flush(self) -> None:
        """Write what waits."""
        if self._flush is not None:
            self._flush.cancel()
            self._flush = None
        waiting, self._waiting = self._waiting, []
        if self._dropped:
            waiting.insert(0, (time.time(), "log.dropped", {"events": self._dropped}))
        if waiting:
            self._append(waiting)

    def close(self) -> None:
        """Write what waits; more may be written later."""
        self.flush()

    def _flush_later(self) -> None:
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            self.flush()
        else:
            self._flush = loop.call_later(FLUSH_S, self.flush)

    def _append(self, events: list[tuple[float, str, dict[str, Any]]]) -> None:
        data = "".join(_line(*event) for event in events).encode()
        try:
            descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            try:
                # A line that was cut short by a full disk must not spoil the next one.
                size = os.lseek(descriptor, 0, os.SEEK_END)
                _write_all(descriptor, data, size)
            finally:
                os.close(descriptor)
            if size + len(data) >= self._max_bytes:
                self._path.replace(older(self._path))
        except OSError:
            self._dropped += sum(event[1] != "log.dropped" for event in events)
        else:
            self._dropped = 0


_TEXTS: dict[type, Callable[[Any], str]] = {
    bool: {True: "true", False: "false"}.__getitem__,
    int: int.__repr__,
    str: encode_basestring_ascii,
    NoneType: lambda _: "null",
}


def _line(at: float, event: str, fields: dict[str, Any]) -> str:
    # By hand: there are several for every frame, and `json` sets up an encoder for each.
    rest = "".join([f',"{name}":{_TEXTS.get(type(value), _text)(value)}' for name, value in fields.items()])
    return f'{{"time":{at:.6f},"event":"{event}"{rest}}}\n'


def _text(value: Any) -> str:
    return json.dumps(value, default=str)


def _write_all(descriptor: int, data: bytes, size: int) -> None:
    try:
        while data:
            data = data[os.write(descriptor, data) :]
    except OSError:
        os.ftruncate(descriptor, size)
        raise


def older(path: Path) -> Path:
    """The file that has what is no longer in `path`."""
    return path.with_suffix(f".1{path.suffix}")


def read_events(path: Path) -> list[Event]:
    """Return every event that is on disk, oldest first."""
    return [event for file in (older(path), path) for line in _lines(file) if (event := _parse(line)) is not None]


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []


def _parse(line: str) -> Event | None:
    """Return an event, or None of a line that is still being written."""
    try:
        event = json.loads(line)
    except ValueError:
        return None
    return event if isinstance(event, dict) else None


def follow(path: Path) -> Iterator[str]:
    """Yield the lines that a file has and gets, also when another takes its place; an empty one where there is none now.

    Never ends by itself.
    """
    while True:
        try:
            with path.open(encoding="utf-8", errors="replace") as file:
                yield from _follow_one(path, file)
        except FileNotFoundError:
            yield ""
            time.sleep(POLL_S)


def _follow_one(path: Path, file: TextIO) -> Iterator[str]:
    """Yield the lines of an open file until the path names another one."""
    line = ""
    while True:
        # Looked at before reading, so that what was written before the replacement is read after it.
        replaced = not _is(path, file.fileno())
        line += (part := file.readline())
        if line.endswith("\n"):
            yield line
            line = ""
        elif part:
            continue
        elif replaced:
            return
        else:
            yield ""
            time.sleep(POLL_S)


def _is(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except OSError:
        return False
