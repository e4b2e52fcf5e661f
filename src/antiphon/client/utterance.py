"""An utterance: text goes in, events come out, at the same time."""

import asyncio
from contextlib import aclosing
from types import TracebackType
from typing import Self

from antiphon.client.errors import BacklogError, GenerationError, SessionRefusedError, SpeechError, VoiceClosedError
from antiphon.client.events import Audio, Event, Finished, UnitDone, UnitSkipped, UnitStarted
from antiphon.client.link import Link
from antiphon.client.sources import TextSource, tokens
from antiphon.client.statistics import Meter, Statistics
from antiphon.protocol.client_events import (
    ClientEvent,
    SpeechAudio,
    SpeechDone,
    SpeechSkipped,
    SpeechStarted,
    UtteranceDone,
    UtteranceFailed,
)
from antiphon.protocol.messages import SessionConfig
from antiphon.text.auto import AutoSegmenter
from antiphon.text.units import Unit

# Longer writes are fed in pieces, between which other tasks run.
_SLICE = 1024

# What an event counts beside its audio.
_EVENT_BYTES = 256


class Utterance:
    """Something to be said. Made by `Voice.utterance`; closed by leaving ``async with``.

    Write text in pieces of any size, `end` it, and iterate over the events meanwhile or afterwards. One task may
    write and one may iterate.

    A voice's utterances are spoken one after the other, in the order in which each had its first unit to speak. One
    that nothing was written to keeps no other waiting; one that has begun does, until it is ended or closed.
    """

    def __init__(self, link: Link, config: SessionConfig, segmenter: AutoSegmenter, *, connect_s: float) -> None:
        self._link = link
        self._segmenter = segmenter
        self._meter = Meter(connect_s)
        self._events: asyncio.Queue[Event | Exception | None] = asyncio.Queue()
        self._units: dict[int, Unit] = {}
        self._ended = False
        self._iterated = False
        # Set once no more events will come: what writers are told.
        self._outcome: Exception | None = None
        self._exhausted = False
        self._id = link.begin(config, self)

    @property
    def statistics(self) -> Statistics:
        """The figures so far; also when the utterance has failed."""
        return self._meter.read()

    # Writing.

    async def write(self, text: str) -> None:
        """Add text. It is spoken as soon as enough of it is there to be spoken well.

        Waits while a megabyte of text waits to be spoken.

        Raises:
            TypeError: `text` is not a string.
            BacklogError: it would wait, but nobody iterates over the events.
            SpeechError: the utterance has failed or was closed.
        """
        if not isinstance(text, str):
            raise TypeError(f"text is written as str, not {type(text).__name__}")
        for start in range(0, len(text), _SLICE):
            await self._wait_for_room()
            self._write(text[start : start + _SLICE])
            if start:
                await asyncio.sleep(0)
        self._check_writable()

    async def end(self) -> None:
        """Say that the text is complete; idempotent.

        Raises:
            SpeechError: the utterance has failed or was closed.
        """
        if self._ended and self._outcome is None:
            return
        self._check_writable()
        self._ended = True
        self._meter.text_complete(self._link.now())
        self._speak(self._segmenter.flush())
        self._link.finish(self._id)

    async def feed(self, source: TextSource) -> None:
        """Write all tokens of `source` and end. What `source` raises, the iteration over the events raises."""
        try:
            async with aclosing(tokens(source)) as written:
                async for token in written:
                    await self.write(token)
            await self.end()
        except asyncio.CancelledError:
            self._give_up(VoiceClosedError("the source of the text was cancelled"))
            raise
        except Exception as error:  # noqa: BLE001 - it reaches the caller through the events
            self._give_up(error)

    def _give_up(self, error: Exception) -> None:
        self.fail(error)
        self._link.abandon(self._id)

    async def _wait_for_room(self) -> None:
        if not self._link.has_room and not self._iterated:
            raise BacklogError(
                "too much text waits to be spoken and nobody listens: "
                "iterate over the utterance while you write, or use say()"
            )
        await self._link.wait_for_room()

    def _write(self, text: str) -> None:
        self._check_writable()
        now = self._link.now()
        self._meter.wrote(len(text), now)
        self._speak(self._segmenter.feed(text, now))
        self._link.rearm()

    def _check_writable(self) -> None:
        if self._outcome is not None:
            raise self._outcome
        if self._ended:
            raise VoiceClosedError("the utterance's text was ended; begin another utterance")

    def _speak(self, units: list[Unit]) -> None:
        for unit in units:
            if unit.speakable:
                self._meter.cut(unit.end)
                self._units[self._link.speak(self._id, unit.text)] = unit

    # Listening.

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        self._iterated = True
        if self._exhausted:
            raise StopAsyncIteration
        event = await self._events.get()
        if event is None or isinstance(event, Exception):
            self._exhausted = True
            raise event or StopAsyncIteration
        self._exhausted = isinstance(event, Finished)
        self._link.unheard(-_size(event))
        return event

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Drop what is not spoken yet and forget what was not listened to; the voice can be used on. Idempotent.

        A stock server cannot be stopped: what it was sent already, two units at most, it still speaks, unheard,
        before the voice's next utterance.
        """
        self._link.abandon(self._id)
        self._outcome = self._outcome or VoiceClosedError("the utterance was closed")
        while not self._events.empty():
            event = self._events.get_nowait()
            if event is not None and not isinstance(event, Exception):
                self._link.unheard(-_size(event))
        self._events.put_nowait(None)

    # For the link; see `Sink`.

    @property
    def next_deadline(self) -> float | None:
        """When the segmenter has waited long enough for the end of a unit."""
        return self._segmenter.next_deadline

    def poll(self, now: float) -> None:
        """Let the segmenter cut what has waited long enough."""
        self._speak(self._segmenter.poll(now))

    def deliver(self, event: ClientEvent, now: float) -> None:
        """Take what the machine reports of this utterance."""
        match event:
            case SpeechStarted(unit=index, sample_rate=sample_rate):
                unit = self._units[index]
                self._put(UnitStarted(index, unit.text, unit.start, unit.end, sample_rate))
            case SpeechAudio(data=data, sample_rate=sample_rate, unit=index):
                self._meter.heard(data, sample_rate, now)
                self._put(Audio(data, sample_rate, index))
            case SpeechDone(unit=index, busy_s=busy_s):
                unit = self._units.pop(index)
                self._meter.unit_done(busy_s)
                self._put(UnitDone(index, unit.start, unit.end, busy_s))
            case SpeechSkipped(unit=index):
                unit = self._units.pop(index)
                self._put(UnitSkipped(index, unit.text, unit.start, unit.end))
            case UtteranceDone():
                self._outcome = VoiceClosedError("the utterance is over")
                self._put(Finished(self._meter.read()))
            case UtteranceFailed():
                self.fail(_error(event))

    def fail(self, error: Exception) -> None:
        """End with an error, after what was delivered already; the first one counts."""
        if self._outcome is None:
            self._outcome = error
            self._events.put_nowait(error)

    def _put(self, event: Event) -> None:
        self._link.unheard(_size(event))
        self._events.put_nowait(event)


def _size(event: Event) -> int:
    return _EVENT_BYTES + (len(event.data) if isinstance(event, Audio) else 0)


def _error(event: UtteranceFailed) -> SpeechError:
    if event.unit is None:
        return SessionRefusedError(event.message)
    return GenerationError(event.message, unit=event.unit, partial_audio=event.partial_audio)
