"""The engine behind the server: loaded in the background, believed only once it has spoken."""

import asyncio
import time
from collections.abc import Callable

from antiphon.engines.contract import Engine, EngineError, SpeechUnit, is_stream_engine
from antiphon.engines.registry import option_names
from antiphon.protocol.speech_request import unknown_model
from antiphon.scheduling import Scheduler, speak
from antiphon.server.logs import log
from antiphon.server.settings import ServerSettings

# About four seconds, so that what a unit costs beside its audio weighs as it does in use.
TRIAL_TEXT = "This is the first sentence of the day, and from now on there will be more."
TRIALS = 3
TRIALS_S = 0.1  # after which no further one begins


class Speaker:
    """An engine and its scheduler.

    Attributes:
        engine: perhaps not loaded yet.
        on_first_chunk: told, for every unit, as `Scheduler` says; to be set before the start.
    """

    def __init__(self, engine: Engine, settings: ServerSettings) -> None:
        self.engine = engine
        self.on_first_chunk: Callable[[float], None] = lambda _: None
        self._failure: EngineError | None = None
        self._settings = settings
        self._scheduler: Scheduler | None = None
        self._starting: asyncio.Task[None] | None = None
        self._settled = asyncio.Event()

    @property
    def failure(self) -> EngineError | None:
        """Why it will never be ready, or is so no more."""
        return self._failure or (self._scheduler.lost if self._scheduler else None)

    @property
    def ready(self) -> bool:
        """Whether a real utterance has been synthesised."""
        return self._settled.is_set() and self.failure is None

    @property
    def model(self) -> str:
        """The model id that this server answers to."""
        return self._settings.model_name or self.engine.info.model

    def check_model(self, name: str) -> str | None:
        """Return None for the model that speaks here, else the error for any other."""
        return None if name == self.model else unknown_model(name)

    @property
    def scheduler(self) -> Scheduler:
        """The scheduler; only once started."""
        assert self._scheduler is not None  # noqa: S101 - made first thing in the application's lifespan
        return self._scheduler

    def start(self) -> None:
        """Begin to load the engine, in the background of the running loop; see `settled`."""
        self._scheduler = Scheduler(
            self.engine,
            workers=self._settings.workers,
            max_speaking=self._settings.max_speaking,
            on_first_chunk=self.on_first_chunk,
        )
        self._starting = asyncio.create_task(self._start())

    async def settled(self) -> None:
        """Wait until the engine is ready or has failed."""
        await self._settled.wait()

    async def close(self) -> None:
        """Stop loading and all synthesis. Idempotent."""
        if self._starting is not None:
            self._starting.cancel()
            await asyncio.wait({self._starting})
        if self._scheduler is not None:
            await self._scheduler.close()

    async def _start(self) -> None:
        name = self.engine.info.name
        try:
            await self._load()
            await self._try()
        except EngineError as error:
            self._failure = error
            log.error("engine.failed", engine=name, error=str(error))
        except Exception as error:  # noqa: BLE001 - whatever it is, nobody may wait for ever for this engine
            self._failure = EngineError(f"engine {name} failed to load: {type(error).__name__}: {error}")
            log.exception("engine.failed", engine=name, error=str(error))
        else:
            log.info("engine.ready", engine=name, max_speaking=self.scheduler.max_speaking)
        self._settled.set()

    async def _load(self) -> None:
        if is_stream_engine(self.engine):
            await self.engine.load()
        else:
            await asyncio.to_thread(self.engine.load)

    async def _try(self) -> None:
        """Let the engine speak, and admit no more listeners than it can serve at the speed it has here."""
        until_s = time.perf_counter() + TRIALS_S
        rtf = await self._trial()
        for _ in range(TRIALS - 1):
            if time.perf_counter() < until_s:
                rtf = min(rtf, await self._trial())
        if self._settings.max_speaking is None:
            self.scheduler.admit_for(max(rtf, self.engine.info.rtf))

    async def _trial(self) -> float:
        """Speak a sentence; this process's seconds of CPU per second of audio.

        Not of the clock: on a machine that is busy for the moment it would say more about others.
        """
        began_s, audio_s = time.process_time(), 0.0
        async for chunk in speak(self.scheduler.listener(), SpeechUnit(TRIAL_TEXT)):
            audio_s += chunk.duration_s
        if not audio_s:
            raise EngineError(f"engine {self.engine.info.name} gave no audio when it was tried")
        return (time.process_time() - began_s) / audio_s


def engine_options(settings: ServerSettings) -> dict[str, object]:
    """Return the settings that have the name of one of this engine's options, as far as they were given.

    Raises:
        EngineError: there is no such engine here.
    """
    shared = [name for name in option_names(settings.engine) if name in ServerSettings.model_fields]
    return {name: value for name in shared if (value := getattr(settings, name)) is not None}
