"""What the scheduler asks of an engine, and what an engine says of itself.

An engine turns one unit of text into PCM, step by step. It knows nothing of sessions, sockets or other
units; whoever calls it decides which unit steps next. `antiphon.testing.conformance` checks these promises.
"""

import inspect
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Protocol

from typing_extensions import TypeIs  # in typing from Python 3.13 on

from antiphon.audio.pcm import PcmChunk


class EngineError(Exception):
    """Synthesis failed; the message may be shown to the caller."""


class EngineLostError(EngineError):
    """Synthesis failed and will fail from now on, for every unit: the engine has to be started anew."""


class InvalidRequestError(EngineError):
    """The engine cannot speak this unit as asked; the message says what it can do instead."""


@dataclass(frozen=True, slots=True)
class Voice:
    """A voice that an engine speaks with.

    Attributes:
        name: lower case, as clients name it.
        languages: English names of the languages it speaks, such as ``English``.
        description: one line for `antiphon voices`.
        derived_from: the voice it was made from by signal processing; None for one the model was trained on.
    """

    name: str
    languages: tuple[str, ...]
    description: str = ""
    derived_from: str | None = None


@dataclass(frozen=True, slots=True)
class EngineInfo:
    """What an engine says of itself, without loading its weights.

    Attributes:
        name: the registry's name.
        model: the model id that `/v1/models` lists and `session.config` may name.
        sample_rate: samples per second of every chunk.
        voices: the first one is the default.
        languages: English names of languages.
        aliases: other voice names it accepts, each mapped to one of `voices`.
        deterministic: the same unit and seed give the same bytes.
        step_ms: typical time of one step on one core; a step below 0.2 ms may be run on the event loop.
        rtf: CPU seconds per second of audio on one core; bounds how many listeners are admitted. So it should be the
            worst case of what is usual: the dearest voice, short units included, while every core is busy, where a
            step takes longer than on an idle machine.
        reads: what it reads aloud itself and needs no normaliser for: ``numbers``, ``dates``, ``currency``, …
    """

    name: str
    model: str
    sample_rate: int
    voices: tuple[Voice, ...]
    languages: tuple[str, ...]
    aliases: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    deterministic: bool = False
    step_ms: float = 10.0
    rtf: float = 0.1
    reads: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class SpeechUnit:
    """One piece of text to be spoken without interruption, and how.

    The fields are those of vLLM-Omni's speech request; an engine ignores what it has no use for and refuses,
    with `InvalidRequestError`, what it cannot honour.

    Attributes:
        text: what to speak; not empty.
        voice: a voice or alias, any case; None for the default.
        language: an English name, any case; None or ``Auto`` for the voice's own.
        speed: 1.0 is the voice's own pace.
        seed: for engines that sample.
    """

    text: str
    voice: str | None = None
    language: str | None = None
    speed: float = 1.0
    seed: int | None = None
    task_type: str | None = None
    instructions: str | None = None
    max_new_tokens: int | None = None
    initial_codec_chunk_frames: int | None = None
    non_streaming_mode: bool | None = None
    ref_audio: str | None = None
    ref_text: str | None = None
    x_vector_only_mode: bool | None = None
    speaker_embedding: tuple[float, ...] | None = None


class Synthesis(Protocol):
    """A unit being synthesised: an iterator that can be stopped from any thread."""

    @property
    def exhausted(self) -> bool:
        """Whether the last chunk has been returned, as far as the engine knows.

        True spares the step that would only find the end, and the listener the wait for it. Once True it stays True.
        """
        ...

    def __iter__(self) -> Iterator[PcmChunk]: ...

    def __next__(self) -> PcmChunk:
        """Do one step (blocking, and bounded whatever the text) and return its audio, which may be empty.

        Raises:
            StopIteration: the unit is complete, or was closed.
            EngineError: synthesis failed; an `EngineLostError` if no unit can be spoken any more.
        """
        ...

    def close(self) -> None:
        """Stop; idempotent, callable from any thread and while a step runs, which then ends early."""
        ...


class StepEngine(Protocol):
    """An engine that computes here, in plain blocking steps. Units may be stepped by different threads at once."""

    info: EngineInfo

    def load(self) -> None:
        """Read weights and warm up; idempotent. Everything that may be slow or may fail happens here.

        Raises:
            EngineError: weights missing or unusable; the message says what to do.
        """
        ...

    def check(self, unit: SpeechUnit) -> None:
        """Refuse what cannot be spoken, cheaply and without synthesis.

        Raises:
            InvalidRequestError: with a message for the caller.
        """
        ...

    def synthesize(self, unit: SpeechUnit) -> Synthesis:
        """Begin a unit; returns at once, the work is done by the steps.

        Raises:
            InvalidRequestError: as `check`.
        """
        ...


class StreamEngine(Protocol):
    """An engine that is remote or asynchronous. Closing the iterator (`aclose`) cancels the work at its source."""

    info: EngineInfo

    async def load(self) -> None:
        """Connect and wait until the engine answers; idempotent."""
        ...

    def check(self, unit: SpeechUnit) -> None:
        """As `StepEngine.check`."""
        ...

    def synthesize(self, unit: SpeechUnit) -> AsyncIterator[PcmChunk]:
        """Begin a unit and yield its audio as it arrives."""
        ...


type Engine = StepEngine | StreamEngine


def is_stream_engine(engine: Engine) -> TypeIs[StreamEngine]:
    """Tell which kind an engine is."""
    return inspect.iscoroutinefunction(engine.load)
