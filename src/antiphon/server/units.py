"""From a session's config to a unit for the engine, and from the engine's chunks to audio in the asked format."""

import asyncio

from antiphon.audio.files import encode
from antiphon.audio.pcm import BYTES_PER_SAMPLE, PcmChunk
from antiphon.engines.contract import EngineError, SpeechUnit
from antiphon.protocol import SessionConfig
from antiphon.protocol.events import AudioChunk

MAX_FILE_S = 600


def speech_unit(text: str, config: SessionConfig) -> SpeechUnit:
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


class FileTooLongError(EngineError):
    """A whole file would take more memory than one request may."""

    def __init__(self) -> None:
        super().__init__(f"the audio is longer than {MAX_FILE_S} s; send less text at once, or stream it as pcm")


class UnitAudio:
    """A unit's audio on its way to the wire: passed on as it comes, or kept until the file is whole."""

    def __init__(self, config: SessionConfig, sample_rate: int) -> None:
        self._format = config.response_format
        self._sample_rate = sample_rate
        self._whole = None if config.stream_audio else bytearray()

    def add(self, chunk: PcmChunk) -> AudioChunk | None:
        """Take a chunk; return what can be sent now.

        Raises:
            FileTooLongError: the whole file would exceed `MAX_FILE_S`.
        """
        if self._whole is None:
            return AudioChunk(chunk.data)
        self._whole += chunk.data
        if len(self._whole) > MAX_FILE_S * self._sample_rate * BYTES_PER_SAMPLE:
            raise FileTooLongError
        return None

    async def finish(self) -> AudioChunk | None:
        """Return what is left once the unit is complete; encodes on a thread, because mp3 and opus take a while."""
        if self._whole is None:
            return None
        return AudioChunk(await asyncio.to_thread(encode, bytes(self._whole), self._sample_rate, self._format))
