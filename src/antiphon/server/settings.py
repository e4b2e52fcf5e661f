"""Every setting of the server, said once: `antiphon serve --help`, environment and TOML are all made from this."""

import difflib
import os
import re
import tomllib
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, EnvSettingsSource, PydanticBaseSettingsSource, SettingsConfigDict

from antiphon.scheduling.pace import Pace

PREFIX = "ANTIPHON_"
# Variables of the commands and the client.
OTHER_VARIABLES = frozenset(
    {"ANTIPHON_CONFIG", "ANTIPHON_CACHE_DIR", "ANTIPHON_STATE_DIR", "ANTIPHON_PYTHON", "ANTIPHON_UV"}
)
# What a header can carry and nobody mistypes: RFC 6750 allows a little less.
KEY = re.compile(r"[!-~]+")


class SettingsError(Exception):
    """The settings cannot be used; the message says what to do."""


class ServerSettings(BaseSettings):
    """Settings; `load` reads all their sources, the constructor none."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, frozen=True, extra="forbid", env_ignore_empty=True)

    # Empty would be every address.
    host: str = Field("127.0.0.1", min_length=1, description="Address to listen on; 0.0.0.0 in a container.")
    port: int = Field(8080, ge=0, le=65535, description="Port to listen on; 0 for any free one.")
    engine: str = Field("hibari", description="Engine that speaks; `antiphon voices` lists them.")
    dialect: Literal["0.30", "0.26"] = Field(
        "0.30", description="vLLM-Omni version whose WebSocket dialect to speak; 0.26 is what SageMaker's images have."
    )
    model_name: str | None = Field(None, description="Model id to answer to; default the engine's own.")
    workers: int | None = Field(None, ge=1, le=256, description="Synthesis threads; default one per core.")
    max_speaking: int | None = Field(
        None, ge=1, description="Listeners that may speak at once; default what the engine keeps gap-free here."
    )
    max_connections: int = Field(
        4096, ge=1, description="WebSocket sessions that may be open at once; 1024 more connections for HTTP."
    )
    pace: Literal["listener", "asap"] = Field(
        "asap", description="Run at most max-lead-ms ahead of playback, or as fast as the engine can."
    )
    max_lead_ms: int = Field(
        2000, ge=100, le=60_000, description="Audio ahead of playback at which no more is made; a chunk may exceed it."
    )
    chunk_ms: int | None = Field(
        None, ge=10, le=2000, description="Longest chunk of audio in one binary frame; default as the engine makes it."
    )
    pause_ms: int = Field(200, ge=40, le=5000, description="Silence between two units of one speaker.")
    config_timeout_s: float = Field(
        10.0,
        gt=0,
        description="Time a client has for a request's headers, for its body, or for its first session.config.",
    )
    idle_timeout_s: float = Field(30.0, gt=0, description="Time without a message after which a session ends.")
    send_timeout_s: float = Field(120.0, gt=0, description="Time a client may take to receive what is sent to it.")
    drain_timeout_s: float = Field(25.0, ge=0, description="Time that sessions have to finish after SIGTERM.")
    max_body_bytes: int = Field(1024 * 1024, ge=1024, description="Largest HTTP request body.")
    api_key: SecretStr | None = Field(
        None, description="Bearer key that clients must present (environment or api-key-file only, never a flag)."
    )
    api_key_file: Path | None = Field(None, description="File that holds the bearer key.")
    log_level: Literal["debug", "info", "warning", "error"] = Field("info", description="Least severe log to write.")
    log_format: Literal["auto", "console", "json"] = Field(
        "auto", description="Log format; auto is console on a terminal, JSON elsewhere."
    )

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],  # noqa: ARG003 - pydantic's signature
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - as above, and the next two
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Let the constructor take its arguments as they are."""
        return (init_settings,)

    @classmethod
    def load(cls, toml: Path | None = None, **given: Any) -> Self:
        """Read every source; `given` wins over `ANTIPHON_*` variables, those over the file, and that over defaults.

        Raises:
            pydantic.ValidationError: a value is out of bounds, or the TOML file has an unknown name.
            SettingsError: the file cannot be read, or the bearer key's variable is set to nothing.
        """
        if any(name.upper() == "ANTIPHON_API_KEY" and not value.strip() for name, value in os.environ.items()):
            raise SettingsError("the bearer key in ANTIPHON_API_KEY is blank; set one, or unset the variable")
        return cls(**{**_read_toml(toml), **EnvSettingsSource(cls)(), **given})

    @property
    def listening_pace(self) -> Pace:
        """The bounds on audio ahead of a listener."""
        return Pace(mode=self.pace, max_lead_s=self.max_lead_ms / 1000)

    def bearer_key(self) -> str | None:
        """The key from the file or the environment, or None when clients need none.

        Raises:
            SettingsError: the file cannot be read, or the key is blank or cannot be sent in a header.
        """
        if self.api_key_file is not None:
            return _usable(_read_key(self.api_key_file), f"the file {self.api_key_file}")
        if self.api_key is None:
            return None
        return _usable(self.api_key.get_secret_value(), "api_key (ANTIPHON_API_KEY)")


def unknown_variables() -> list[tuple[str, str | None]]:
    """Return the variables ``ANTIPHON_*`` of this process that nothing reads, each with the nearest one that is read."""
    known = {PREFIX + name.upper() for name in ServerSettings.model_fields} | OTHER_VARIABLES
    unknown = sorted(name for name in os.environ if name.upper().startswith(PREFIX) and name.upper() not in known)
    return [(name, _nearest(name.upper(), known)) for name in unknown]


def _nearest(name: str, known: set[str]) -> str | None:
    """Compare what follows the prefix, which would make all of them similar."""
    found = difflib.get_close_matches(name.removeprefix(PREFIX), [one.removeprefix(PREFIX) for one in known], 1)
    return PREFIX + found[0] if found else None


def _usable(key: str, where: str) -> str:
    key = key.strip()
    if not key:
        raise SettingsError(f"the bearer key in {where} is blank; set one, or none at all")
    if not KEY.fullmatch(key):
        raise SettingsError(f"the bearer key in {where} must be of visible ASCII characters, without spaces")
    return key


def _read_key(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"cannot read the bearer key in {path}: {error}") from None


def _read_toml(path: Path | None) -> dict[str, Any]:
    if path is None:
        return {}
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingsError(f"cannot read the settings in {path}: {error}") from None
