"""The engine behind the server: loaded in the background, believed only once it has spoken."""

import asyncio

import structlog

from antiphon.engines.contract import Engine, EngineError, SpeechUnit, is_stream_engine
from antiphon.engines.registry import option_names
from antiphon.scheduling import Scheduler, speak
from antiphon.server.settings import ServerSettings

WARM_UP_TEXT = "Ready to speak."

log = structlog.get_logger()


class Speaker:
    """An engine and its scheduler.

    Attributes:
        engine: perhaps not loaded yet.
        failure: why it will never be ready.
    """

    def __init__(self, engine: Engine, settings: ServerSettings) -> None:
        self.engine = engine
        self.failure: EngineError | None = None
        self._settings = settings
        self._scheduler: Scheduler | None = None
        self._ready = asyncio.Event()

    @property
    def ready(self) -> bool:
        """Whether a real utterance has been synthesised."""
        return self._ready.is_set() and self.failure is None

    @property
    def model(self) -> str:
        """The model id that this server answers to."""
        return self._settings.model_name or self.engine.info.model

    def check_model(self, name: str) -> str | None:
        """Return None for the model that speaks here, else vLLM-Omni's words for another, a Python repr as it sends."""
        if name == self.model:
            return None
        message = f"The model `{name}` does not exist."
        return f"error=ErrorInfo(message={message!r}, type='NotFoundError', param='model', code=404)"

    @property
    def scheduler(self) -> Scheduler:
        """The scheduler; only once loading has begun."""
        assert self._scheduler is not None  # noqa: S101 - made first thing in the application's lifespan
        return self._scheduler

    async def start(self) -> None:
        """Load the engine and speak once. Sets `ready` or `failure`, and never raises for an engine's fault."""
        self._scheduler = Scheduler(
            self.engine, workers=self._settings.workers, max_speaking=self._settings.max_speaking
        )
        try:
            await self._load()
            samples = 0
            async for chunk in speak(self._scheduler.listener(), SpeechUnit(WARM_UP_TEXT)):
                samples += chunk.samples
            if not samples:
                raise EngineError(f"engine {self.engine.info.name} gave no audio when it was tried")
        except EngineError as error:
            self.failure = error
            log.error("engine.failed", engine=self.engine.info.name, error=str(error))  # noqa: TRY400 - its text says it
        else:
            log.info("engine.ready", engine=self.engine.info.name, max_speaking=self._scheduler.max_speaking)
        self._ready.set()

    async def settled(self) -> None:
        """Wait until the engine is ready or has failed."""
        await self._ready.wait()

    async def close(self) -> None:
        """Stop all synthesis."""
        if self._scheduler is not None:
            await self._scheduler.close()

    async def _load(self) -> None:
        if is_stream_engine(self.engine):
            await self.engine.load()
        else:
            await asyncio.to_thread(self.engine.load)


def engine_options(settings: ServerSettings) -> dict[str, object]:
    """Return those settings that are this engine's options, as far as they were given.

    Raises:
        EngineError: there is no such engine here.
    """
    offered = {"chunk_ms": settings.chunk_ms, "pause_ms": settings.pause_ms, "release": settings.dialect}
    taken = option_names(settings.engine)
    return {name: value for name, value in offered.items() if name in taken and value is not None}
