"""What a command needs that the core installation does not have."""

from collections.abc import Iterator
from contextlib import contextmanager

from antiphon.cli.failures import fail


@contextmanager
def extra(name: str, purpose: str) -> Iterator[None]:
    """Around imports: say what to install when a package is missing.

    Args:
        name: of the extra.
        purpose: what needs it, as the beginning of a sentence.

    Raises:
        typer.Exit: a package is missing; it has been said.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] == "antiphon":
            raise
        raise fail(
            f"{purpose} needs {error.name}, which is not installed; install it with: pip install 'antiphon[{name}]'"
        ) from None
