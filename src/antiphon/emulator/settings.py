"""What a local SageMaker is to be: flags over a TOML file over defaults."""

import json
import re
import secrets
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from antiphon.emulator.endpoints import VARIANT, EndpointSpec, check_name, parse_endpoint, server_url
from antiphon.emulator.state import EmulatorError, StateFolder

CREDENTIALS = "credentials.json"
# What AWS writes keys in; it has none that begin like this, so that one can see where they belong.
ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
KEY_PREFIX = "ANTIPHON"
KEY_LENGTH = 20
# As AWS has them at most (IAM API reference, AccessKey).
KEY_ID, SECRET = re.compile(r"[A-Za-z0-9_]{1,128}"), re.compile(r"[!-~]{1,128}")

type Dialect = Literal["0.26", "0.30"]


def _said_as_value_error(check: Any) -> Any:
    def checked(value: str) -> str:
        try:
            result: str = check(value)
        except EmulatorError as error:
            raise ValueError(str(error)) from None
        return result

    return checked


class EndpointTable(BaseModel):
    """The table ``[endpoints.NAME]`` of the file; a plain URL is a table of that."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    url: Annotated[str, AfterValidator(_said_as_value_error(server_url))] | None = None
    engine: str | None = None
    dialect: Dialect | None = None
    variants: tuple[str, ...] = Field((VARIANT,), min_length=1)

    @model_validator(mode="before")
    @classmethod
    def _table(cls, value: Any) -> Any:
        if isinstance(value, str):
            return {"url": value}
        if not isinstance(value, dict):
            raise ValueError('write "ws://HOST:PORT", or a table of settings')  # noqa: TRY004 - pydantic takes no other
        return value


class EmulatorSettings(BaseModel):
    """Settings of a local SageMaker; `load` reads their sources."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    host: str = Field("127.0.0.1", min_length=1, description="Address to listen on; 0.0.0.0 for other machines too.")
    port: int = Field(8443, ge=0, le=65535, description="Port to listen on; 0 for any free one.")
    region: str = Field("us-east-1", pattern=r"^[a-z0-9]+(-[a-z0-9]+)+$", description="Region it claims to be.")
    hostnames: tuple[str, ...] = Field((), description="Names that its certificate has beside the local ones.")
    verify: bool = Field(True, description="Check the signature of every request and event.")
    time_scale: float = Field(1.0, gt=0, le=1000, description="Factor on SageMaker's times (pings, 30 minutes, …).")
    engine: str = Field("hibari", description="Engine of the servers that it starts.")
    dialect: Dialect = Field("0.26", description="Dialect of the servers that it starts.")
    endpoints: dict[Annotated[str, AfterValidator(_said_as_value_error(check_name))], EndpointTable] = Field(
        min_length=1
    )

    @field_validator("endpoints", mode="before")
    @classmethod
    def _some(cls, endpoints: Any) -> Any:
        if endpoints == {}:
            raise ValueError("none is named; write --endpoint NAME or --endpoint NAME=ws://HOST:PORT")
        return endpoints

    @classmethod
    def load(cls, toml: Path | None = None, endpoints: Iterable[str] = (), **given: Any) -> Self:
        """Read the file; `given` wins over it, and `endpoints` (``NAME[=URL]``) come beside those of the file.

        Raises:
            EmulatorError: the file cannot be read, or a value does not fit; the message says which.
        """
        fields = _read_toml(toml)
        named = dict(parse_endpoint(text) for text in endpoints)
        tables = fields.get("endpoints", {})
        if isinstance(tables, dict):
            tables = {**tables, **{name: {"url": url} for name, url in named.items()}}
        try:
            return cls(**{**fields, **given, "endpoints": tables})
        except ValidationError as error:
            raise EmulatorError(_in_words(error, toml)) from None

    @property
    def specs(self) -> tuple[EndpointSpec, ...]:
        """The endpoints that are wanted."""
        return tuple(
            EndpointSpec(name, table.url, table.engine or self.engine, table.dialect or self.dialect, table.variants)
            for name, table in self.endpoints.items()
        )


@dataclass(frozen=True, slots=True)
class Credentials:
    """A pair of keys that the local SageMaker accepts.

    Attributes:
        access_key_id: which says whose the secret is.
        secret_access_key: which requests are signed with.
    """

    access_key_id: str
    secret_access_key: str

    def __repr__(self) -> str:
        return f"Credentials({self.access_key_id!r})"


def credentials(folder: StateFolder) -> Credentials:
    """Return the keys of this state folder, made when they are first needed.

    Raises:
        EmulatorError: they cannot be written.
    """
    kept = _kept(folder)
    if kept is not None:
        return kept
    made = Credentials(
        KEY_PREFIX + "".join(secrets.choice(ALPHABET) for _ in range(KEY_LENGTH - len(KEY_PREFIX))),
        secrets.token_urlsafe(30),
    )
    folder.write(
        CREDENTIALS,
        json.dumps({"access_key_id": made.access_key_id, "secret_access_key": made.secret_access_key}).encode(),
    )
    return made


def _kept(folder: StateFolder) -> Credentials | None:
    """Return the keys of the folder, or None if it has none that can be used."""
    try:
        kept = json.loads((folder.path / CREDENTIALS).read_text(encoding="utf-8"))
        key_id, secret = kept["access_key_id"], kept["secret_access_key"]
        if KEY_ID.fullmatch(key_id) and SECRET.fullmatch(secret):
            return Credentials(key_id, secret)
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        pass
    return None


def _read_toml(path: Path | None) -> dict[str, Any]:
    if path is None:
        return {}
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        words = error.strerror if isinstance(error, OSError) else error
        raise EmulatorError(f"cannot read the settings in {path}: {words}") from None


def _in_words(error: ValidationError, toml: Path | None) -> str:
    problems = error.errors(include_url=False, include_input=False, include_context=False)
    lines = [f"  {_problem(problem['type'], problem['loc'], problem['msg'])}" for problem in problems]
    source = f" (flags and {toml})" if toml else ""
    return "\n".join([f"these settings do not fit{source}:", *lines, "see: antiphon emulate up --help"])


def _problem(kind: str, where: tuple[int | str, ...], message: str) -> str:
    path = [str(part) for part in where]
    if kind == "extra_forbidden":
        unknown, known = path.pop(), EndpointTable if len(path) > 1 else EmulatorSettings
        message = f"no such setting: {unknown}; there are: {', '.join(known.model_fields)}"
    return ": ".join([".".join(path), message.removeprefix("Value error, ")] if path else [message])
