"""What an utterance cost, as its listener saw it."""

from dataclasses import dataclass

from antiphon.audio.measures import Arrival, Playback, audible_span
from antiphon.audio.pcm import BYTES_PER_SAMPLE


@dataclass(frozen=True, slots=True)
class Statistics:
    """Figures of one utterance.

    Times have one zero point: the moment the first text (an empty token is none) was written. They are seconds,
    and None until the thing has happened. "Arrived" means taken from the connection, not yet played.

    Attributes:
        connect_s: what opening the connection took, before all this.
        first_unit_text_s: the last token of the first unit had been written.
        text_complete_s: the end of the text was announced.
        first_chunk_s: the first audio arrived.
        first_audible_s: when a player that began with the first chunk makes its first sound: `first_chunk_s` and
            the silence that the audio begins with.
        audio_complete_s: the last audio arrived.
        audio_s: playing time of the audio.
        sample_rate: samples per second; 0 before the first audio.
        chunks: pieces of audio that arrived.
        bytes: of audio.
        characters: code points written.
        units: units that were spoken.
        busy_s: time that the server worked on them, from when it could begin each to that one's last audio.
        worst_starvation_s: the longest time a player that began with the first chunk had nothing to play.
    """

    connect_s: float = 0.0
    first_unit_text_s: float | None = None
    text_complete_s: float | None = None
    first_chunk_s: float | None = None
    first_audible_s: float | None = None
    audio_complete_s: float | None = None
    audio_s: float = 0.0
    sample_rate: int = 0
    chunks: int = 0
    bytes: int = 0
    characters: int = 0
    units: int = 0
    busy_s: float = 0.0
    worst_starvation_s: float = 0.0

    @property
    def real_time_factor(self) -> float | None:
        """`busy_s` per second of audio; about 1 when the server paces its audio, however fast it is."""
        return self.busy_s / self.audio_s if self.audio_s else None


class Meter:
    """Takes the figures of one utterance while it is spoken; every method gets the time as `now`."""

    def __init__(self, connect_s: float) -> None:
        self._connect_s = connect_s
        self._zero: float | None = None
        self._first_unit_end: int | None = None
        # Characters written and when, until the first unit's end is known; then nobody needs them.
        self._written: list[tuple[int, float]] = []
        self._characters = 0
        self._first_unit_text_at: float | None = None
        self._text_complete_at: float | None = None
        self._first_chunk_at: float | None = None
        self._audible_at: float | None = None
        self._last_chunk_at: float | None = None
        self._playback = Playback()
        self._audio_s = 0.0
        self._sample_rate = 0
        self._chunks = 0
        self._bytes = 0
        self._units = 0
        self._busy_s = 0.0

    def wrote(self, characters: int, now: float) -> None:
        """So much text was written."""
        if not characters:
            return
        if self._zero is None:
            self._zero = now
        self._characters += characters
        if self._first_unit_text_at is None:
            self._written.append((self._characters, now))

    def cut(self, end: int) -> None:
        """A unit was cut that ends at this character."""
        if self._first_unit_text_at is None:
            self._first_unit_text_at = next((at for written, at in self._written if written >= end), None)
            self._written.clear()

    def text_complete(self, now: float) -> None:
        """No more text will come."""
        self._text_complete_at = now

    def heard(self, data: bytes, sample_rate: int, now: float) -> None:
        """Audio arrived."""
        duration_s = len(data) / BYTES_PER_SAMPLE / sample_rate
        if self._first_chunk_at is None:
            self._first_chunk_at = now
        plays_at = self._playback.take(Arrival(now, duration_s))
        if self._audible_at is None:
            audible = audible_span(data)
            if audible is not None:
                self._audible_at = plays_at + audible[0] / sample_rate
        self._last_chunk_at = now
        self._sample_rate = sample_rate
        self._audio_s += duration_s
        self._chunks += 1
        self._bytes += len(data)

    def unit_done(self, busy_s: float) -> None:
        """A unit is complete."""
        self._units += 1
        self._busy_s += busy_s

    def read(self) -> Statistics:
        """The figures so far."""
        return Statistics(
            connect_s=self._connect_s,
            first_unit_text_s=self._since_zero(self._first_unit_text_at),
            text_complete_s=self._since_zero(self._text_complete_at),
            first_chunk_s=self._since_zero(self._first_chunk_at),
            first_audible_s=self._since_zero(self._audible_at),
            audio_complete_s=self._since_zero(self._last_chunk_at),
            audio_s=self._audio_s,
            sample_rate=self._sample_rate,
            chunks=self._chunks,
            bytes=self._bytes,
            characters=self._characters,
            units=self._units,
            busy_s=self._busy_s,
            worst_starvation_s=self._playback.worst_starvation_s,
        )

    def _since_zero(self, at: float | None) -> float | None:
        return None if at is None or self._zero is None else at - self._zero
