from typing import Any

import pytest

from antiphon.audio.pcm import PcmChunk
from antiphon.audio.wavfile import wav_header
from antiphon.engines.contract import InvalidRequestError
from antiphon.protocol import SessionConfig
from antiphon.protocol.speech_body import SpeechRequest
from antiphon.server.units import MAX_FILE_S, FileTooLongError, WholeFile, speech_unit

pytestmark = pytest.mark.anyio

FIELDS: dict[str, Any] = {
    "voice": "Ryan",
    "language": "English",
    "speed": 1.5,
    "seed": 3,
    "task_type": "CustomVoice",
    "instructions": "softly",
    "max_new_tokens": 7,
    "initial_codec_chunk_frames": 2,
    "non_streaming_mode": True,
    "ref_audio": "data:",
    "ref_text": "said",
    "x_vector_only_mode": False,
}


def test_every_field_of_a_config_reaches_the_unit() -> None:
    unit = speech_unit("Hm.", SessionConfig.parse({**FIELDS, "speaker_embedding": [0.5, 1.0]}))
    assert {name: getattr(unit, name) for name in FIELDS} == FIELDS
    assert unit.text == "Hm."
    assert unit.speaker_embedding == (0.5, 1.0)


def test_every_field_of_a_request_reaches_the_unit() -> None:
    given = {name: value for name, value in FIELDS.items() if name != "ref_audio"}
    unit = speech_unit("Hm.", SpeechRequest(input="Hm.", **given, speaker_embedding=[0.5, 1.0]))
    assert {name: getattr(unit, name) for name in given} == given
    assert unit.speaker_embedding == (0.5, 1.0)


def test_no_speed_is_the_voices_own() -> None:
    assert speech_unit("Hm.", SessionConfig.parse({"speed": None})).speed == 1.0


async def test_a_unit_without_sound_is_an_empty_file() -> None:
    assert await WholeFile("pcm", 24_000).encode() == b""
    assert await WholeFile("wav", 24_000).encode() == wav_header(24_000, 0)


async def test_a_file_is_kept_up_to_its_bound() -> None:
    file = WholeFile("pcm", 100)
    second = PcmChunk(bytes(200), 100)
    for _ in range(MAX_FILE_S):
        file.add(second)
    assert len(await file.encode()) == MAX_FILE_S * 200
    with pytest.raises(FileTooLongError, match="longer than 600 s"):
        file.add(second)


async def test_a_format_that_cannot_hold_the_sample_rate_says_so() -> None:
    with pytest.raises(InvalidRequestError, match="mp3 cannot hold 23000 samples per second"):
        await WholeFile("mp3", 23_000).encode()
