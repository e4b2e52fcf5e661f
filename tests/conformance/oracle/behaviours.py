"""What the speech handlers use of vllm and torch, as far as it can be seen on the wire.

Facts: vllm's `GenerateBaseServing._check_model` and error models, `SamplingParams`, `make_async`; the shape of
torchaudio's time stretching. Written anew; only names, signatures and texts are theirs.
"""

import asyncio
import copy
import logging
import uuid
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from enum import Enum
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel
from tests.conformance.oracle.stand_ins import Behaviours

_PROMPT_TOKENS = 16  # its length is invisible: the fake engine reads the text, not the prompt


class ErrorInfo(BaseModel):
    """The inside of vllm's error body."""

    message: str
    type: str
    param: str | None = None
    code: int


class ErrorResponse(BaseModel):
    """Vllm's error body; the stream sends its `str` for an unknown model."""

    error: ErrorInfo


class GenerateBaseServing:
    """What `OmniOpenAIServingSpeech` inherits."""

    def __init__(self, engine_client: Any, models: Any, *, request_logger: Any = None) -> None:
        self.engine_client = engine_client
        self.models = models
        self.request_logger = request_logger
        self.model_config = engine_client.model_config

    async def _check_model(self, request: Any) -> ErrorResponse | None:
        if not request.model or request.model in self.models.names:
            return None
        message = f"The model `{request.model}` does not exist."
        return ErrorResponse(error=ErrorInfo(message=message, type="NotFoundError", param="model", code=404))


class RequestOutputKind(Enum):
    """How often a request yields, and what of it."""

    CUMULATIVE = 0
    DELTA = 1
    FINAL_ONLY = 2


@dataclass
class SamplingParams:
    """The fields that the handlers read or write."""

    max_tokens: int | None = None
    min_tokens: int = 0
    seed: int | None = None
    extra_args: dict[str, Any] | None = None
    output_kind: RequestOutputKind = RequestOutputKind.CUMULATIVE

    def clone(self) -> "SamplingParams":
        return copy.deepcopy(self)


def coerce_param_message_types(params: list[SamplingParams], is_streaming: bool) -> list[SamplingParams]:
    """Ask for pieces when streaming and for the whole otherwise, on copies."""
    coerced = [params_of_stage.clone() for params_of_stage in params]
    for params_of_stage in coerced:
        params_of_stage.output_kind = RequestOutputKind.DELTA if is_streaming else RequestOutputKind.FINAL_ONLY
    return coerced


def make_async[R](func: Callable[..., R], executor: Executor | None = None) -> Callable[..., Awaitable[R]]:
    """Run `func` in `executor` when called."""

    async def call(*args: Any, **kwargs: Any) -> R:
        return await asyncio.get_running_loop().run_in_executor(executor, partial(func, *args, **kwargs))

    return call


class _PromptEmbedsBuilder:
    @staticmethod
    def estimate_prompt_len_from_additional_information(**_kwargs: Any) -> int:
        return _PROMPT_TOKENS


@dataclass
class _Waveform:
    """A tensor, as far as the speed adjustment treats it: one that keeps its samples until it is cut to a length."""

    samples: NDArray[np.float32]
    device: None = None
    dtype: None = None

    def unsqueeze(self, _dim: int) -> "_Waveform":
        return self

    def squeeze(self, _dim: int) -> "_Waveform":
        return self

    def numpy(self) -> NDArray[np.float32]:
        return self.samples


def _transform(**_options: Any) -> Callable[..., _Waveform]:
    """Stand in for a transform: the sound is lost, only the length that the handler works out remains."""

    def apply(waveform: _Waveform, _rate: float = 1.0, length: int | None = None) -> _Waveform:
        return waveform if length is None else _Waveform(np.zeros(length, dtype=np.float32))

    return apply


class _EngineDeadError(Exception):
    pass


class _EngineGenerateError(Exception):
    pass


_ERRORS = {"ErrorResponse": ErrorResponse, "ErrorInfo": ErrorInfo}
_TRANSFORMS = {"Spectrogram": _transform, "TimeStretch": _transform, "InverseSpectrogram": _transform}

BEHAVIOURS: Behaviours = {
    "vllm.logger": {"init_logger": logging.getLogger},
    "vllm.entrypoints.generate.base.serving": {"GenerateBaseServing": GenerateBaseServing},
    "vllm.entrypoints.openai.engine.protocol": _ERRORS,
    "vllm.entrypoints.serve.engine.protocol": _ERRORS,
    "vllm.inputs": {"tokens_input": lambda prompt_token_ids: {"prompt_token_ids": prompt_token_ids}},
    "vllm.sampling_params": {"SamplingParams": SamplingParams, "RequestOutputKind": RequestOutputKind},
    "vllm.utils": {"random_uuid": lambda: uuid.uuid4().hex},
    "vllm.utils.async_utils": {"make_async": make_async},
    "vllm.v1.engine.exceptions": {"EngineDeadError": _EngineDeadError, "EngineGenerateError": _EngineGenerateError},
    "vllm_omni.entrypoints.utils": {"coerce_param_message_types": coerce_param_message_types},
    "vllm_omni.model_executor.stage_input_processors.forced_aligner": {"TIMESTAMPS_MODALITY": "timestamps"},
    "vllm_omni.model_executor.models.qwen3_tts.prompt_embeds_builder": {
        "Qwen3TTSPromptEmbedsBuilder": _PromptEmbedsBuilder
    },
    "torch": {"from_numpy": _Waveform, "hann_window": lambda *_args, **_kwargs: None},
    "torchaudio": {"transforms": SimpleNamespace(**_TRANSFORMS)},
}
