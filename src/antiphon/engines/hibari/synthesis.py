"""Speaking one unit with hibari, a chunk per step."""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import onnxruntime as ort

from antiphon.audio.pcm import PcmChunk, from_float
from antiphon.audio.trim import SilenceTrimmer
from antiphon.engines.contract import EngineError
from antiphon.engines.hibari.dsp import BINS, SAMPLE_RATE, Floats, FrameSynthesizer, Spectra
from antiphon.engines.hibari.model import Encoded, HibariModel, OrtError
from antiphon.engines.hibari.noise import FrameNoise
from antiphon.engines.hibari.plan import plan
from antiphon.engines.hibari.voices import Timbre

LEAD_MS = 20

_NOTHING: Floats = np.zeros(0, np.float32)


@dataclass(frozen=True, slots=True)
class Delivery:
    """How a unit is spoken.

    Attributes:
        timbre: the voice.
        speed: 0.5 to 2.
        pause_ms: silence between this sentence and whatever this speaker says next.
        seed: of the noise in the voice.
    """

    timbre: Timbre
    speed: float
    pause_ms: int
    seed: int


class HibariSynthesis:
    """An iterator over the chunks of one unit; `close` ends it from any thread, a running step included.

    A step reads no more than one piece of text besides computing one chunk. Its chunk is empty if neither made a sound.

    Args:
        model: returns the loaded network; called by the first step.
        text: of the unit.
        delivery: how to speak it.
    """

    def __init__(self, model: Callable[[], HibariModel], text: str, delivery: Delivery) -> None:
        self._model = model
        self._text = text
        self._delivery = delivery
        self._noise = FrameNoise(delivery.seed, BINS)
        self._options = ort.RunOptions()
        self._options.log_severity_level = 4
        self._closed = False
        self._exhausted = False
        self._chunks: Iterator[PcmChunk] = self._unit()

    @property
    def exhausted(self) -> bool:
        """Whether the last chunk has been returned. Not yet known if what follows makes no sound."""
        return self._exhausted

    def __iter__(self) -> Iterator[PcmChunk]:
        return self

    def __next__(self) -> PcmChunk:
        if self._closed:
            raise StopIteration
        try:
            return next(self._chunks)
        except OrtError as error:
            if self._closed:
                raise StopIteration from None
            raise EngineError(f"hibari failed: {error}") from error

    def close(self) -> None:
        """Stop; a running graph gives up within milliseconds, the reading of a piece of text when it is done."""
        self._closed = True
        self._options.terminate = True
        self._chunks = iter(())  # lets go of the spectra as soon as a running step does

    def _unit(self) -> Iterator[PcmChunk]:
        model = self._model()
        pieces = _Lookahead(model.read(self._text))
        urgent = True
        for ids in pieces:
            if self._closed:
                return
            for samples, last in self._piece(model, ids, urgent):
                self._exhausted = last and pieces.ended()
                yield PcmChunk(from_float(samples), SAMPLE_RATE)
                # Once the listener has something to hear, the rest can be made more cheaply.
                urgent = urgent and not len(samples)

    def _piece(self, model: HibariModel, ids: list[int], urgent: bool) -> Iterator[tuple[Floats, bool]]:
        """Yield samples, and whether they are the piece's last. They may be none: a step has to end in any case."""
        if not ids:
            yield _NOTHING, True
            return
        encoded = model.encode(ids, self._delivery.speed, self._options)
        frames = encoded.audible(self._delivery.speed)
        if not frames:
            yield _NOTHING, True
            return
        synthesizer = FrameSynthesizer(
            encoded.f0[frames.start : frames.stop] * self._delivery.timbre.pitch, self._noise
        )
        trimmer = self._trimmer()
        for spectra, stop in self._spectra(model, encoded, frames, urgent):
            samples = trimmer.push(synthesizer.push(spectra))
            last = stop == frames.stop
            yield (np.concatenate([samples, trimmer.finish()]) if last else samples), last

    def _trimmer(self) -> SilenceTrimmer:
        lead, pause = (ms * SAMPLE_RATE // 1000 for ms in (LEAD_MS, self._delivery.pause_ms))
        # What is spoken next begins with a lead of its own, which is part of the pause.
        return SilenceTrimmer(lead, pause - lead, SAMPLE_RATE)

    def _spectra(
        self, model: HibariModel, encoded: Encoded, frames: range, urgent: bool
    ) -> Iterator[tuple[Spectra, int]]:
        """Yield the spectra of `frames` a chunk at a time, each with the frame it stops at."""
        envelope = self._delivery.timbre.envelope
        for window, chunks in plan(frames, urgent):
            spectra = model.vocode(encoded, window.start, window.stop, self._options)
            for chunk in chunks:
                part = slice(chunk.start - window.start, chunk.stop - window.start)
                lh, theta, ln, lr, phi = (values[:, part] for values in spectra)
                yield (envelope(lh), theta, envelope(ln), envelope(lr), phi), chunk.stop


class _Lookahead[Item]:
    """An iterator that can be asked whether there is more."""

    def __init__(self, items: Iterator[Item]) -> None:
        self._items = items
        self._next: list[Item] = []

    def __iter__(self) -> Iterator[Item]:
        return self

    def __next__(self) -> Item:
        return self._next.pop() if self._next else next(self._items)

    def ended(self) -> bool:
        if not self._next:
            self._next.extend(itertools.islice(self._items, 1))
        return not self._next
