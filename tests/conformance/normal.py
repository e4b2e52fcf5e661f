"""Transcripts in a form in which only what must be equal remains: one line of text per happening.

Where a stream is cut into frames is the server's business, so the frames of a unit become one line. Of lossy files it is
the sound that counts. What is left out here is left out for every script; what concerns some is in `differences`.
"""

import hashlib
import io
import json
from collections.abc import Iterator
from itertools import groupby
from typing import Any

import numpy as np
import soundfile
from tests.conformance.player import Ended, Entry, Event, Frame, Transcript

from antiphon.audio.pcm import to_float
from antiphon.engines.tone import tone_pcm

CUT_OFF = "audio until the client left"

_LOSSY = frozenset({"mp3", "opus"})
_MAX_CODING_ERROR = 0.1  # root mean square, relative to the sound's


def normalise(transcript: Transcript) -> list[str]:
    """Return one line per event, per unit's audio, and per end of a connection."""
    start: dict[str, Any] = {}
    size = 0
    lines: list[str] = []
    for is_audio, group in groupby(transcript, key=lambda entry: isinstance(entry, Frame)):
        entries = list(group)
        if is_audio:
            frames = [entry.data for entry in entries if isinstance(entry, Frame)]
            size = sum(map(len, frames))
            lines += _audio(frames, start)
            continue
        for entry in entries:
            if isinstance(entry, Event) and entry.type == "audio.start":
                start, size = json.loads(entry.raw), 0
            lines.append(_event(entry, start, size) if isinstance(entry, Event) else _end(entry))
    return list(_without_cut_off(lines))


def _end(entry: Entry) -> str:
    assert isinstance(entry, Ended)
    if entry.how == "server":
        return f"closed by the server: {entry.code} {entry.reason!r}"
    return f"closed by the client: {entry.code}" if entry.how == "client" else entry.how


def _event(event: Event, start: dict[str, Any], size: int) -> str:
    """Leave the event as it came, but for the right size of a lossy file: it is the encoder's, not the protocol's."""
    if event.type != "audio.done" or start.get("format") not in _LOSSY or not size:
        return event.raw
    return event.raw.replace(f'"total_bytes":{size},', '"total_bytes":SIZE,')


def _audio(frames: list[bytes], start: dict[str, Any]) -> Iterator[str]:
    data = b"".join(frames)
    if "sample_rate" not in start:
        yield f"{len(frames)} frame: {_file(data, start)}"
    elif data:
        yield f"audio: {len(data)} bytes, {_digest(data)}"


def _file(data: bytes, start: dict[str, Any]) -> str:
    if start.get("format") == "pcm":
        return f"PCM, {len(data)} bytes, {_digest(data)}"
    with soundfile.SoundFile(io.BytesIO(data)) as file:
        samples = file.read(dtype="int16")
        kind = f"{file.format}/{file.subtype}, {file.samplerate} Hz, {file.channels} channel, {len(samples)} samples"
    if start.get("format") in _LOSSY:
        return f"{kind}, {_likeness(samples.tobytes(), start.get('sentence_text', ''))}"
    return f"{kind}, {len(data)} bytes, {_digest(samples.tobytes())}"


def _likeness(data: bytes, text: str) -> str:
    sound, tone = to_float(data), to_float(tone_pcm(text))
    if len(sound) != len(tone):
        return "of another length than the tone"
    error = float(np.sqrt(np.mean((sound - tone) ** 2) / np.mean(tone**2)))
    return "the tone" if error < _MAX_CODING_ERROR else "not the tone"


def _digest(data: bytes) -> str:
    return f"sha256 {hashlib.sha256(data).hexdigest()[:16]}"


def _without_cut_off(lines: list[str]) -> Iterator[str]:
    """How much of a unit had arrived when the client left is chance."""
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        cut = line.startswith("audio: ") and following.startswith("closed by the client")
        yield CUT_OFF if cut else line
