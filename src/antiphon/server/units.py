"""From a config or a request to a unit for the engine, and from the engine's chunks to audio in the asked format."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass

from antiphon.audio.files import AudioFormatError, encode
from antiphon.audio.pcm import BYTES_PER_SAMPLE, PcmChunk
from antiphon.engines.contract import EngineError, InvalidRequestError, SpeechUnit
from antiphon.protocol import SessionConfig
from antiphon.protocol.speech_body import SpeechRequest

MAX_FILE_S = 600


@dataclass(frozen=True, slots=True)
class Framing:
    """How audio is cut into binary frames.

    Attributes:
        sample_rate: of the engine, in samples per second.
        chunk_ms: audio in one frame, at most; None for whatever the engine gives.
    """

    sample_rate: int
    chunk_ms: int | None = None

    def frames(self, data: bytes) -> Iterator[bytes]:
        """Cut s16le bytes into frames."""
        size = self.sample_rate * self.chunk_ms // 1000 * BYTES_PER_SAMPLE if self.chunk_ms else len(data)
        return (data[start : start + size] for start in range(0, len(data), size or 1))


def speech_unit(text: str, config: SessionConfig | SpeechRequest) -> SpeechUnit:
    """Return the unit that speaks `text` as `config` asks."""
    embedding = config.speaker_embedding
    return SpeechUnit(
        text=text,
        voice=config.voice,
        language=config.language,
        speed=1.0 if config.speed is None else config.speed,
        seed=config.seed,
        task_type=config.task_type,
        instructions=config.instructions,
        max_new_tokens=config.max_new_tokens,
        initial_codec_chunk_frames=config.initial_codec_chunk_frames,
        non_streaming_mode=config.non_streaming_mode,
        ref_audio=config.ref_audio,
        ref_text=config.ref_text,
        x_vector_only_mode=config.x_vector_only_mode,
        speaker_embedding=None if embedding is None else tuple(embedding),
    )


class FileTooLongError(InvalidRequestError):
    """A whole file would take more memory than one request may."""

    def __init__(self) -> None:
        super().__init__(f"the audio is longer than {MAX_FILE_S} s; send less text at once, or stream it as pcm")


class WholeFile:
    """A unit's audio, kept until the file is whole.

    Args:
        file_format: a key of `antiphon.audio.files.FORMATS`.
        sample_rate: samples per second.
    """

    def __init__(self, file_format: str, sample_rate: int) -> None:
        self._format = file_format
        self._sample_rate = sample_rate
        self._pcm = bytearray()

    def add(self, chunk: PcmChunk) -> None:
        """Append a chunk.

        Raises:
            FileTooLongError: the file would exceed `MAX_FILE_S`.
        """
        self._pcm += chunk.data
        if len(self._pcm) > MAX_FILE_S * self._sample_rate * BYTES_PER_SAMPLE:
            raise FileTooLongError

    async def encode(self) -> bytes:
        """Return the file; on a thread, because mp3 and opus take a while.

        Raises:
            InvalidRequestError: the format cannot hold this sample rate.
            EngineError: the encoder failed.
        """
        try:
            return await asyncio.to_thread(encode, bytes(self._pcm), self._sample_rate, self._format)
        except AudioFormatError as error:
            raise InvalidRequestError(str(error)) from None
        except RuntimeError as error:  # soundfile's own errors
            raise EngineError(f"the audio could not be written as {self._format}") from error
