"""Beginning and end of what serves the page; as a process of its own in tests/cli."""

import pytest
from starlette.applications import Starlette

from antiphon.client import TargetError
from antiphon.studio.runner import PageError, listen, serve

pytestmark = pytest.mark.anyio


def test_an_address_that_cannot_be_had() -> None:
    with listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(PageError, match=rf"cannot listen on 127\.0\.0\.1 port {port}: .*--port"):
            listen("127.0.0.1", port)


async def test_an_engine_that_cannot_speak_is_known_before_the_page_is() -> None:
    with pytest.raises(TargetError, match="nobody"):
        await serve(Starlette(), "local:nobody", listen("127.0.0.1", 0), lambda: None)
