"""`antiphon voices`: who can speak, in which language."""

import json
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from antiphon.cli.engines import check_engine
from antiphon.cli.failures import reported
from antiphon.engines.contract import EngineError, EngineInfo
from antiphon.engines.registry import create, engine_names


def voices(
    engine: Annotated[str | None, typer.Option(help="Only this engine's voices.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the voices of every engine that is installed, and other names they answer to.

    An alias is another name for the same voice, so that clients written for Qwen3-TTS find the names they send.
    """
    if engine is not None:
        check_engine(engine)
    with reported(EngineError):
        infos = [create(name).info for name in ([engine] if engine else engine_names())]
    if as_json:
        print(json.dumps([row for info in infos for row in _rows(info)], indent=2))
        return
    table = Table("engine", "voice", "languages", "what it is", "aliases", box=None, header_style="bold")
    for info in infos:
        for row in _rows(info):
            origin = f"derived from {row['derived_from']}" if row["derived_from"] else ""
            what = "; ".join(part for part in (row["description"], origin) if part)
            default = " (default)" if row["default"] else ""
            table.add_row(
                row["engine"], row["voice"] + default, _brief(row["languages"]), what, ", ".join(row["aliases"])
            )
    Console().print(table)


def _rows(info: EngineInfo) -> list[dict[str, Any]]:
    return [
        {
            "engine": info.name,
            "voice": voice.name,
            "default": position == 0,
            "languages": list(voice.languages),
            "description": voice.description,
            "derived_from": voice.derived_from,
            "aliases": sorted(alias for alias, name in info.aliases.items() if name == voice.name),
        }
        for position, voice in enumerate(info.voices)
    ]


def _brief(languages: list[str]) -> str:
    shown = 2
    rest = len(languages) - shown
    return ", ".join(languages[:shown]) + (f" and {rest} more" if rest > 0 else "")
