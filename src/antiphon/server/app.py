"""The application: its routes, and what lives as long as it does."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.routing import BaseRoute, Route, WebSocketRoute

from antiphon.engines.contract import Engine
from antiphon.engines.registry import create
from antiphon.server.auth import BearerKey
from antiphon.server.catalogue import list_models, list_voices
from antiphon.server.errors import ApiError, on_api_error, on_http_exception
from antiphon.server.faults import FaultBarrier
from antiphon.server.health import health, ping
from antiphon.server.invocations import Invocations
from antiphon.server.metrics import Metrics, metrics
from antiphon.server.settings import ServerSettings
from antiphon.server.speaker import Speaker, engine_options
from antiphon.server.speech import create_speech
from antiphon.server.state import ServerState
from antiphon.server.stream import speech_stream

# What `Invocations` reaches too: only what answers a POST, and never itself, or a request would go round in circles.
INVOCABLE = [Route("/v1/audio/speech", create_speech, methods=["POST"])]
ROUTES: list[BaseRoute] = [
    Route("/ping", ping, methods=["GET", "POST"]),
    Route("/health", health),
    Route("/metrics", metrics),
    Route("/v1/models", list_models),
    Route("/v1/audio/voices", list_voices),
    *INVOCABLE,
    WebSocketRoute("/v1/audio/speech/stream", speech_stream),
    Route("/invocations", Invocations(INVOCABLE)),
]
# SageMaker's default path; the image that speaks dialect 0.26 refuses it.
BIDIRECTIONAL = WebSocketRoute("/invocations-bidirectional-stream", speech_stream)


def create_app(settings: ServerSettings, engine: Engine | None = None) -> Starlette:
    """Return the ASGI application.

    Args:
        settings: where to get everything.
        engine: instead of the one that `settings` names.

    Raises:
        EngineError: there is no such engine here.
        SettingsError: the bearer key cannot be read.
    """
    engine = engine or create(settings.engine, **engine_options(settings))
    key = settings.bearer_key()
    app = Starlette(
        routes=[*ROUTES, *([] if settings.dialect == "0.26" else [BIDIRECTIONAL])],
        middleware=[Middleware(FaultBarrier), *([Middleware(BearerKey, key=key)] if key else [])],
        exception_handlers={ApiError: on_api_error, HTTPException: on_http_exception},
        lifespan=_lifespan,
    )
    speaker = Speaker(engine, settings)
    app.state.server = ServerState(settings, speaker, Metrics(speaker))
    return app


@asynccontextmanager
async def _lifespan(app: Starlette) -> AsyncIterator[None]:
    speaker: Speaker = app.state.server.speaker
    # In the background, so that /ping can already say that it is not ready.
    speaker.start()
    try:
        yield
    finally:
        await speaker.close()
