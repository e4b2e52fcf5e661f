"""A fake `engine_client` for the speech handlers: it hums what `antiphon.engines.tone` hums."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from tests.conformance.faults import FAILURE, Fault, fault_of
from tests.conformance.oracle.behaviours import RequestOutputKind, SamplingParams

from antiphon.audio.pcm import to_float
from antiphon.engines import qwen3
from antiphon.engines.tone import tone_length, tone_pcm

_CHUNK_SAMPLES = 80 * qwen3.SAMPLE_RATE // 1000


@dataclass(frozen=True)
class EngineOutput:
    """What the handlers read of one output of the engine.

    Attributes:
        multimodal_output: ``audio``, float32 of shape [n] within ±1, and ``sr``, its rate.
        metrics: per-stage counters.
    """

    multimodal_output: dict[str, Any]
    metrics: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class _Job:
    text: str
    max_tokens: int | None
    fault: Fault

    @property
    def length(self) -> int:
        return tone_length(self.text, max_new_tokens=self.max_tokens)

    def samples(self, start: int, stop: int) -> EngineOutput:
        # libsndfile, through which the handlers make PCM16, gives exactly these integers back.
        audio = to_float(tone_pcm(self.text, start, stop, max_new_tokens=self.max_tokens))
        return EngineOutput({"audio": audio, "sr": qwen3.SAMPLE_RATE})

    async def steps(self) -> AsyncIterator[tuple[int, int]]:
        """Yield the stretch of each step, and fail where the text says so."""
        end = self.length if self.fault.fail_at is None else min(self.fault.fail_at, self.length)
        for start in range(0, end, _CHUNK_SAMPLES):
            await asyncio.sleep(self.fault.delay_s)
            yield start, min(start + _CHUNK_SAMPLES, end)
        if self.fault.fail_at is not None:
            raise RuntimeError(FAILURE)


class FakeEngine:
    """The attributes and methods of `AsyncOmni` that the speech handlers use, posing as Qwen3-TTS CustomVoice."""

    errored = False
    mod_metrics = None

    def __init__(self) -> None:
        self.request_states: dict[str, Any] = {}
        self.default_sampling_params_list = [SamplingParams(max_tokens=qwen3.DEFAULT_NEW_TOKENS)]
        self.stage_configs = [
            SimpleNamespace(
                engine_args=SimpleNamespace(model_stage="qwen3_tts", model_arch=None, worker_type="ar"),
                tts_args={},
            )
        ]
        talker = SimpleNamespace(
            spk_id={name: index for index, name in enumerate(qwen3.VOICES)},
            codec_language_id={name.lower(): index for index, name in enumerate(qwen3.LANGUAGES)},
            hidden_size=qwen3.EMBEDDING_DIMENSIONS,
        )
        self.model_config = SimpleNamespace(
            model=qwen3.MODEL,
            async_chunk=True,
            hf_config=SimpleNamespace(tts_model_type="custom_voice", talker_config=talker),
        )

    async def generate(
        self, prompt: Any, request_id: str, sampling_params_list: list[SamplingParams], **_options: Any
    ) -> AsyncIterator[EngineOutput]:
        """Hum the text of `prompt`: step by step for a streaming request, else whole."""
        (text,) = prompt["additional_information"]["text"]
        (params,) = sampling_params_list
        job = _Job(text, params.max_tokens, fault_of(text))
        streaming = params.output_kind is RequestOutputKind.DELTA
        async for start, stop in job.steps():
            if streaming:
                yield job.samples(start, stop)
        if not streaming:
            yield job.samples(0, job.length)

    async def abort(self, request_id: str) -> None:
        """Do nothing: closing the generator has stopped it."""
