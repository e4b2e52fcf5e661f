"""Names of engines and voices that were mistyped, as far as this machine knows them."""

from antiphon.cli.failures import fail
from antiphon.cli.words import suggestion
from antiphon.client.errors import TargetError
from antiphon.client.targets import parse
from antiphon.engines.contract import EngineError
from antiphon.engines.registry import create, engine_names


def check_engine(name: str) -> None:
    """Refuse an engine that there is not.

    Raises:
        typer.Exit: there is none of this name; it has been said.
    """
    known = engine_names()
    if name not in known:
        raise fail(f"no engine named {name!r}; available: {', '.join(known)}{suggestion(name, known)}")


def engine_in(target: str) -> str | None:
    """The engine that a target names, which is none when it names a server or leaves the choice to the default."""
    try:
        scheme, complete = parse(target)
    except TargetError:
        return None
    return complete.partition(":")[2].strip("/") or None if scheme == "local" else None


def voice_suggestion(target: str, voice: str | None) -> str:
    """As `suggestion`, of a voice that was refused, when the target is an engine of this machine."""
    if voice is None or not target.strip().lower().startswith("local:"):
        return ""
    engine = engine_in(target)
    known = {name for known_engine in ([engine] if engine else engine_names()) for name in _voices(known_engine)}
    return "" if voice.lower() in known else suggestion(voice, sorted(known))


def _voices(engine: str) -> list[str]:
    try:
        info = create(engine).info
    except EngineError:
        return []
    return [*(voice.name for voice in info.voices), *info.aliases]
