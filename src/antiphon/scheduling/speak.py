"""A unit's audio as a plain asynchronous iterator, for callers that do nothing else meanwhile."""

import asyncio
from collections.abc import AsyncGenerator

from antiphon.audio.pcm import PcmChunk
from antiphon.engines.contract import SpeechUnit
from antiphon.scheduling.listener import Listener


async def speak(listener: Listener, unit: SpeechUnit) -> AsyncGenerator[PcmChunk]:
    """Yield a unit's chunks as they are made; closing the iterator stops synthesis.

    Raises:
        CapacityError: as many listeners are speaking as can be kept gap-free.
        EngineError: synthesis failed or was stopped; what was yielded before is incomplete.
    """
    ready = asyncio.Event()
    job = listener.submit(unit, ready.set)
    try:
        while not job.finished:
            if (chunk := job.take()) is not None:
                yield chunk
            elif not job.finished:
                await ready.wait()
                ready.clear()
        if job.error is not None:
            raise job.error
    finally:
        job.close()
