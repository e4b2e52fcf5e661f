"""Full-duplex speech: text streams in while it is written, PCM streams out before it is complete.

`connect` (asynchronous) and `connect_sync` reach any speech server: ``ws://…``, or ``local:`` for an engine inside this
process. Everything that `antiphon.client` exports is here too.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from antiphon.client import *  # noqa: F403 - what `__getattr__` gives, for type checkers and editors
    from antiphon.client.targets import ConnectOptions
    from antiphon.client.transport import Transport

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """Import the client when it is first asked for, and register `local:` with it.

    The package root is the composition root: the client does not know the server, and neither is imported by
    ``import antiphon`` alone.
    """
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    client = import_module("antiphon.client")
    if name not in client.__all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import_module("antiphon.client.targets").register("local", _open_local)
    return getattr(client, name)


async def _open_local(target: str, options: "ConnectOptions") -> "Transport":
    from antiphon.local import open_local  # noqa: PLC0415 - only those who use it load an engine

    return await open_local(target, options)
