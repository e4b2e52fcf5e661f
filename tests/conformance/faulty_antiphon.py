"""`antiphon serve --engine tone` with a tone that fails where the text says so; prints ``{"url": …}`` like the oracle.

Everything else is the product as it is installed: its command line, its settings, its server.
"""

import json
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from tests.conformance.faults import FAILURE, Fault, fault_of

from antiphon.audio.pcm import BYTES_PER_SAMPLE, PcmChunk
from antiphon.cli.main import main as antiphon
from antiphon.engines import qwen3, registry
from antiphon.engines.contract import EngineError, SpeechUnit, Synthesis
from antiphon.engines.tone import ToneEngine

_ROUTE = "/v1/audio/speech/stream"


class FaultyTone(ToneEngine):
    """The tone, with the faults that a text asks for. Its steps may sleep, so they must not run on the event loop."""

    def __init__(self, *, chunk_ms: int = 80, dialect: qwen3.Release = "0.30") -> None:
        super().__init__(chunk_ms=chunk_ms, dialect=dialect)
        self.info = replace(self.info, step_ms=1.0)

    def synthesize(self, unit: SpeechUnit) -> Synthesis:
        """Begin to hum `unit`, or to fail it."""
        return _FaultySynthesis(super().synthesize(unit), fault_of(unit.text))


class _FaultySynthesis:
    def __init__(self, tone: Synthesis, fault: Fault) -> None:
        self._tone = tone
        self._fault = fault
        self._left = fault.fail_at

    @property
    def exhausted(self) -> bool:
        return self._left is None and self._tone.exhausted

    def __iter__(self) -> Iterator[PcmChunk]:
        return self

    def __next__(self) -> PcmChunk:
        time.sleep(self._fault.delay_s)
        if self._left == 0:
            raise EngineError(FAILURE)
        chunk = next(self._tone)
        if self._left is not None:
            chunk = PcmChunk(chunk.data[: self._left * BYTES_PER_SAMPLE], chunk.sample_rate)
            self._left -= chunk.samples
        return chunk

    def close(self) -> None:
        self._tone.close()


def _announce(ready_file: Path) -> None:
    while not ready_file.exists():
        time.sleep(0.02)
    url = json.loads(ready_file.read_text(encoding="utf-8"))["url"]
    json.dump({"url": url.replace("http", "ws", 1) + _ROUTE}, sys.stdout)
    sys.stdout.write("\n")
    sys.stdout.flush()
    sys.stdin.buffer.read()
    os.kill(os.getpid(), signal.SIGINT)


def main() -> None:
    """Run the server until standard input ends."""
    registry._ENGINES["tone"] = registry._Entry(__name__, FaultyTone.__name__, "")
    with tempfile.TemporaryDirectory() as folder:
        ready_file = Path(folder) / "ready"
        threading.Thread(target=_announce, args=(ready_file,), daemon=True).start()
        fixed = ["--engine", "tone", "--port", "0", "--ready-file", str(ready_file), "--log-level", "error"]
        sys.argv = ["antiphon", "serve", *fixed, "--drain-timeout-s", "1", *sys.argv[1:]]
        antiphon()


if __name__ == "__main__":
    main()
