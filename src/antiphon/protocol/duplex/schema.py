"""JSON Schemas of the messages: `python -m antiphon.protocol.duplex.schema docs/schemas/antiphon-1` writes them."""

import inspect
import json
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from antiphon.protocol.duplex.messages import (
    AudioCancelled,
    AudioDone,
    AudioStart,
    ClientMessage,
    ContextDone,
    DuplexConfig,
    ErrorMessage,
    InputCancel,
    InputDone,
    InputFlush,
    InputFlushed,
    InputText,
    Ping,
    Pong,
    ServerMessage,
    SessionClose,
    SessionReady,
)

CLIENT_MESSAGES: tuple[type[ClientMessage], ...] = (
    DuplexConfig,
    InputText,
    InputFlush,
    InputDone,
    InputCancel,
    Ping,
    SessionClose,
)
SERVER_MESSAGES: tuple[type[ServerMessage], ...] = (
    SessionReady,
    AudioStart,
    AudioDone,
    InputFlushed,
    ContextDone,
    AudioCancelled,
    Pong,
    ErrorMessage,
)
_JSON = {"None": "null", "True": "true", "False": "false"}
_PYTHON = re.compile(r"\b(?:None|True|False)\b")
_ATTRIBUTE = re.compile(r"^(\w+): (.*)$")


def summary(model: type[BaseModel]) -> str:
    """What a message is, without its fields: the first paragraph of its docstring."""
    return _plain(" ".join((inspect.getdoc(model) or "").partition("\n\n")[0].split()))


def field_texts(model: type[BaseModel]) -> dict[str, str]:
    """What each field is, as the docstrings of the model and of those it extends say."""
    texts: dict[str, str] = {}
    for base in reversed(model.__mro__):
        if issubclass(base, BaseModel) and base is not BaseModel:
            texts |= _attributes(inspect.getdoc(base) or "")
    return {name: _plain(text) for name, text in texts.items() if name in model.model_fields}


def schema(model: type[ClientMessage | ServerMessage]) -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of a message as it travels. Unknown fields are allowed.

    The server leaves out what it does not know and never sends null; all else that it can send is always there.
    """
    sent = model in SERVER_MESSAGES
    body = model.model_json_schema(mode="serialization" if sent else "validation")
    properties = {name: _property(field) for name, field in body["properties"].items()}
    for name, text in field_texts(model).items():
        properties[name]["description"] = text
    optional = {name for name, field in properties.items() if _nullable(field)}
    if sent:
        properties = {name: _never_null(field) for name, field in properties.items()}
    required = [name for name in properties if name not in optional] if sent else body.get("required", [])
    definitions = {"$defs": body["$defs"]} if "$defs" in body else {}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": model.type,
        "description": summary(model),
        "type": "object",
        "properties": {"type": {"const": model.type}, **properties},
        "required": ["type", *required],
        **definitions,
    }


def render(model: type[ClientMessage | ServerMessage]) -> str:
    """The schema as its file has it."""
    return json.dumps(schema(model), indent=2, ensure_ascii=False) + "\n"


def file_name(model: type[ClientMessage | ServerMessage]) -> str:
    """The name of a message's file."""
    return f"{model.type}.json"


def write(folder: Path, models: Iterable[type[ClientMessage | ServerMessage]]) -> None:
    """Write a file for each message."""
    folder.mkdir(parents=True, exist_ok=True)
    for model in models:
        (folder / file_name(model)).write_text(render(model), encoding="utf-8")


def _attributes(docstring: str) -> dict[str, str]:
    """Read the section ``Attributes:`` of a docstring."""
    _, _, section = docstring.partition("Attributes:\n")
    texts: dict[str, str] = {}
    name = ""
    for line in section.splitlines():
        start = _ATTRIBUTE.match(line.strip()) if line.startswith("    ") and line[4:5].strip() else None
        if start is not None:
            name = start[1]
            texts[name] = start[2]
        elif name and line.strip():
            texts[name] += f" {line.strip()}"
    return texts


def _property(field: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in field.items() if key != "title" and (key, value) != ("default", None)}


def _nullable(field: dict[str, Any]) -> bool:
    return {"type": "null"} in field.get("anyOf", ())


def _never_null(field: dict[str, Any]) -> dict[str, Any]:
    choices = [choice for choice in field.get("anyOf", ()) if choice != {"type": "null"}]
    if len(choices) != 1:
        return field
    return {**choices[0], **{key: value for key, value in field.items() if key != "anyOf"}}


def _plain(text: str) -> str:
    """Without the marks of reStructuredText, in the words of the wire."""
    for model in (*CLIENT_MESSAGES, *SERVER_MESSAGES):
        text = re.sub(rf"`{model.__name__}\b", f"`{model.type}", text)
    text = text.replace("``", "`").replace("`DIALECT`", '`"antiphon/1"`').replace("`ErrorCode`", "error code")
    return _PYTHON.sub(lambda match: _JSON[match[0]], text)


if __name__ == "__main__":
    write(Path(sys.argv[1]), (*CLIENT_MESSAGES, *SERVER_MESSAGES))
