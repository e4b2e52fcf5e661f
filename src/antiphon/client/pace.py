"""Text in the pieces and at the pace of a language model, for demonstrations and measurements."""

import asyncio
import re
from collections.abc import AsyncIterator

# As byte-pair tokenizers cut: a word keeps the space before it, long words come in pieces, punctuation stands alone.
_TOKENS = re.compile(r"\s*(?:\w{1,6}|[^\w\s])|\s+")


def like_a_model(text: str) -> list[str]:
    """Cut text into pieces of about the size of an LLM's tokens; joined, they are the text."""
    return _TOKENS.findall(text)


async def paced(text: str, tokens_per_second: float) -> AsyncIterator[str]:
    """Yield `like_a_model(text)` at an even pace, the first one at once.

    The pace is kept over the whole text: a reader that is late once gets the next tokens sooner.
    """
    loop = asyncio.get_running_loop()
    started = loop.time()
    for position, token in enumerate(like_a_model(text)):
        delay = started + position / tokens_per_second - loop.time()
        if delay > 0:
            await asyncio.sleep(delay)
        yield token
