"""Full-duplex speech: text streams in while it is written, PCM streams out before it is complete.

`connect` (asynchronous) and `open` (synchronous) reach any speech server: ``ws://…``, or ``local:`` for an engine
inside this process.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from antiphon.client import connect

__version__ = "0.1.0"

__all__ = ["__version__", "connect"]


def __getattr__(name: str) -> Any:
    """Import the client when it is first asked for, and register `local:` with it.

    The package root is the composition root: the client does not know the server, and neither is imported by
    ``import antiphon`` alone.
    """
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    client = importlib.import_module("antiphon.client")
    return getattr(client, name)
