"""What the client's tests share."""

import asyncio
from collections.abc import AsyncIterator

from antiphon.client.events import Audio, Event

STORY = "Once upon a time there was a king. He had three daughters. They all lived happily."
SENTENCES = ["Once upon a time there was a king.", "He had three daughters.", "They all lived happily."]


def audio(events: list[Event]) -> bytes:
    """All samples."""
    return b"".join(event.data for event in events if isinstance(event, Audio))


async def heard(events: AsyncIterator[Event], into: list[Event] | None = None) -> list[Event]:
    """All events; also `into` a list, for when an error ends them."""
    into = [] if into is None else into
    async with asyncio.timeout(20):
        async for event in events:
            into.append(event)
    return into
