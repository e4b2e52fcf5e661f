"""Engines by name. Nothing of an engine is imported before it is asked for."""

import importlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from antiphon.engines.contract import Engine, EngineError


@dataclass(frozen=True, slots=True)
class _Entry:
    module: str
    factory: str
    install: str


_ENGINES = {
    "hibari": _Entry("antiphon.engines.hibari", "HibariEngine", "hibari-tts[fast]"),
    "tone": _Entry("antiphon.engines.tone", "ToneEngine", "antiphon"),
}


def engine_names() -> tuple[str, ...]:
    """Names that `create` knows, whether their packages are installed or not."""
    return tuple(sorted(_ENGINES))


def option_names(name: str) -> tuple[str, ...]:
    """Return the options that an engine takes.

    Raises:
        EngineError: no such engine, or its package is missing.
    """
    return tuple(inspect.signature(_factory(name)).parameters)


def create(name: str, **options: Any) -> Engine:
    """Make an engine; its weights are read later, by `load`.

    Args:
        name: one of `engine_names`.
        **options: the engine's own settings, by keyword.

    Raises:
        EngineError: no such engine, option or option value, or its package is missing; the message says what there is.
    """
    factory = _factory(name)
    _check_options(name, options)
    try:
        return factory(**options)
    except ValueError as error:
        raise EngineError(f"engine {name!r}: {error}") from error


def _factory(name: str) -> Callable[..., Engine]:
    entry = _ENGINES.get(name)
    if entry is None:
        raise EngineError(f"no engine named {name!r}; available: {', '.join(engine_names())}")
    try:
        module = importlib.import_module(entry.module)
    except ModuleNotFoundError as error:
        raise EngineError(
            f"engine {name!r} needs the package {error.name!r}, which is not installed; "
            f"try: pip install '{entry.install}'"
        ) from error
    factory: Callable[..., Engine] = getattr(module, entry.factory)
    return factory


def _check_options(name: str, options: dict[str, Any]) -> None:
    known = option_names(name)
    unknown = sorted(set(options) - set(known))
    if unknown:
        raise EngineError(f"engine {name!r} has no option {', '.join(unknown)}; it knows: {', '.join(known) or 'none'}")
