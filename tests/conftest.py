"""Fixtures that every test may use."""

import pytest


@pytest.fixture
def anyio_backend() -> str:
    """The server and the client are written for asyncio, which uvicorn and websockets need."""
    return "asyncio"
