"""Where engines keep what they can make again: model graphs cut to size, calibration."""

import logging
import os
import tempfile
from pathlib import Path

_logger = logging.getLogger(__name__)


def cache_dir() -> Path:
    """Return ``$ANTIPHON_CACHE_DIR``, else ``antiphon`` below ``$XDG_CACHE_HOME`` or ``~/.cache``; it may not exist.

    Raises:
        RuntimeError: neither is set and the user has no home directory.
    """
    if own := os.environ.get("ANTIPHON_CACHE_DIR"):
        return Path(own)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "antiphon"


def read(name: str) -> bytes | None:
    """Return the cached file `name`, or None if there is none that can be read."""
    try:
        return (cache_dir() / name).read_bytes()
    except (OSError, RuntimeError):
        return None


def write(name: str, data: bytes) -> None:
    """Keep `data` as `name`, whole or not at all; other processes may write the same name at the same time.

    A directory that cannot be written costs the work again at the next start, nothing else.
    """
    try:
        folder = cache_dir()
        folder.mkdir(parents=True, exist_ok=True)
        _replace(folder, name, data)
    except (OSError, RuntimeError) as error:
        _logger.warning("cannot cache %s (%s); set ANTIPHON_CACHE_DIR to a directory that can be written", name, error)


def _replace(folder: Path, name: str, data: bytes) -> None:
    with tempfile.NamedTemporaryFile(dir=folder, prefix=f"{name}.", delete=False) as file:
        temporary = Path(file.name)
        try:
            file.write(data)
            file.close()
            temporary.replace(folder / name)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
