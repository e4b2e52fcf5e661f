"""What the engine of the tests makes of a text."""

import wave
from pathlib import Path

from antiphon.engines import qwen3
from antiphon.engines.tone import tone_length, tone_pcm

HEADER_BYTES = 44


def spoken(text: str) -> bytes:
    return tone_pcm(text, 0, tone_length(text))


def samples(file: Path) -> bytes:
    """Of a WAV file, 16-bit mono at the engine's rate; its header may leave its length open, as a stream's does."""
    with wave.open(str(file)) as header:
        assert (header.getnchannels(), header.getsampwidth(), header.getframerate()) == (1, 2, qwen3.SAMPLE_RATE)
    return file.read_bytes()[HEADER_BYTES:]
