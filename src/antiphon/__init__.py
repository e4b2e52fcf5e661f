"""Full-duplex speech: text streams in while it is written, PCM streams out before it is complete.

`connect` (asynchronous) and `connect_sync` reach any speech server: ``ws://…``, or ``local:`` for an engine inside this
process.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from antiphon.client.voice import connect as connect

__version__ = "0.1.0"

__all__ = ["__version__", "connect"]


def __getattr__(name: str) -> Any:
    """Import the client when it is first asked for, and register `local:` with it.

    The package root is the composition root: the client does not know the server, and neither is imported by
    ``import antiphon`` alone.
    """
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from antiphon.client import targets, voice  # noqa: PLC0415 - see above

    targets.register("local", _open_local)
    return getattr(voice, name)


async def _open_local(target: str, options: Any) -> Any:
    from antiphon.local import open_local  # noqa: PLC0415 - only those who use it load an engine

    return await open_local(target, options)
