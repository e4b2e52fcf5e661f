"""Full-duplex speech: text streams in while it is written, PCM streams out before it is complete.

`connect` (asynchronous) and `connect_sync` reach any speech server: ``ws://…``, or ``local:`` for an engine inside this
process. Everything that `antiphon.client` exports is here too.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from antiphon.client import *  # noqa: F403 - what `__getattr__` gives, for type checkers and editors

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """Import what is asked for when it is: a name of the client, or a submodule."""
    if name == "__all__":
        return import_module("antiphon.client").__all__
    if not name.startswith("_"):
        client = import_module("antiphon.client")
        if name in client.__all__:
            return getattr(client, name)
        if find_spec(f"antiphon.{name}") is not None:
            return import_module(f"antiphon.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return ["__version__", *import_module("antiphon.client").__all__]
