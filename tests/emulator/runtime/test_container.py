"""What is said of a container that gives no answer."""

import errno

import pytest

from antiphon.emulator.runtime.container import failure


def _below(error: Exception) -> Exception:
    outer = OSError("All connection attempts failed")
    outer.__cause__ = error
    return outer


@pytest.mark.parametrize(
    "error",
    [
        ConnectionRefusedError(),
        OSError(f"Multiple exceptions: [Errno {errno.ECONNREFUSED}] Connect call failed ('::1', 9, 0, 0), …"),
        _below(ConnectionRefusedError()),
        _below(ExceptionGroup("several", [TimeoutError(), ConnectionRefusedError()])),
    ],
    ids=["one address", "several of asyncio", "one of httpx", "several of httpx"],
)
def test_nobody_listens(error: Exception) -> None:
    assert failure("it broke off", error, "http://localhost:9") == "nothing listens at http://localhost:9"


@pytest.mark.parametrize("error", [TimeoutError(), _below(TimeoutError()), ExceptionGroup("one", [TimeoutError()])])
def test_anything_else_is_named(error: Exception) -> None:
    assert failure("it broke off", error, "http://localhost:9") == f"it broke off: {type(error).__name__}"
