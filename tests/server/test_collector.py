import gc
from collections.abc import Iterator

import pytest
from tests.server.driving import served, until

pytestmark = pytest.mark.anyio


@pytest.fixture
def thawed() -> Iterator[None]:
    gc.unfreeze()
    yield
    gc.unfreeze()


async def test_a_server_that_is_ready_spares_the_collector_what_is_there_for_good(thawed: None) -> None:
    async with served():
        await until(lambda: gc.get_freeze_count() > 10_000)
