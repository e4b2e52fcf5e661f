"""Import machinery that lets the speech handlers run without torch, vllm and the rest of vLLM-Omni.

Modules of the wheel that decide what travels on the wire are imported from it unchanged (`_REAL`). Packages around them
become shells, so that their heavy initialisation does not run. Whatever else is asked for is stood in for: by the
behaviour given for its name, or by names that accept everything and mean nothing.
"""

import sys
from collections.abc import Mapping, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

type Behaviours = Mapping[str, Mapping[str, Any]]

_OPENAI = "vllm_omni.entrypoints.openai"

_REAL = frozenset(
    {
        f"{_OPENAI}.serving_speech",
        f"{_OPENAI}.serving_speech_stream",
        f"{_OPENAI}.speech_text_splitter",
        f"{_OPENAI}.speech_usage",
        f"{_OPENAI}.audio_utils_mixin",
        f"{_OPENAI}.errors",
        f"{_OPENAI}.protocol.audio",
        f"{_OPENAI}.tts_adapters",
        f"{_OPENAI}.tts_adapters.base",
        f"{_OPENAI}.tts_adapters.capabilities",
        f"{_OPENAI}.tts_adapters.qwen3_tts",
        "vllm_omni.utils.audio_resample",
        "vllm_omni.utils.forced_aligner",
        "vllm_omni.utils.qwen3_force_align_processor",
    }
)
_SHELLS = frozenset(
    {"vllm_omni", "vllm_omni.entrypoints", _OPENAI, f"{_OPENAI}.protocol", "vllm_omni.utils"},
)
_ABSENT = frozenset({"vllm_omni", "vllm", "torch", "torchaudio", "transformers", "safetensors", "PIL"})


class _AnythingType(type):
    """A class whose every attribute is another such class."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _anything(name)

    def __getitem__(cls, item: Any) -> Any:
        return cls


class Anything(metaclass=_AnythingType):
    """Whatever its user wants: a class, an instance, a decorator, a function."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the function if used as a decorator, else another of these."""
        return args[0] if len(args) == 1 and callable(args[0]) else Anything()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything()


def _anything(name: str) -> _AnythingType:
    return _AnythingType(name, (Anything,), {})


class _StandInModule(ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _anything(name)


class _Finder(MetaPathFinder, Loader):
    def __init__(self, source: Path, behaviours: Behaviours) -> None:
        self._source = source
        self._behaviours = behaviours

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname in _REAL or fullname.partition(".")[0] not in _ABSENT:
            return None
        spec = ModuleSpec(fullname, self, is_package=True)
        # A shell has the place of the real package, so that its real modules are found there.
        shell = [str(self._source.joinpath(*fullname.split(".")))]
        spec.submodule_search_locations = shell if fullname in _SHELLS else []
        return spec

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _StandInModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        vars(module).update(self._behaviours.get(module.__name__, {}))


def install(source: Path, behaviours: Behaviours) -> None:
    """Make `vllm_omni` importable from `source`, with `behaviours` (module name -> its names) in place of what it uses."""
    sys.meta_path.insert(0, _Finder(source, behaviours))
