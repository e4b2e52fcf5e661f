"""The WebSocket route ``/v1/audio/speech/stream``."""

from dataclasses import replace

import structlog
from starlette.websockets import WebSocket

from antiphon.protocol import DIALECTS, Limits, SpeechSession
from antiphon.server.connection import Connection, WebSocketConnection
from antiphon.server.errors import ApiError
from antiphon.server.session import SessionRunner
from antiphon.server.speech import RETRY_AFTER
from antiphon.server.state import ServerState

log = structlog.get_logger()


async def speech_stream(websocket: WebSocket) -> None:
    """Accept a client, or say over HTTP why not, and serve its session."""
    state: ServerState = websocket.app.state.server
    refusal = _refusal(state)
    if refusal is not None:
        state.metrics.sessions_total.labels("refused").inc()
        await websocket.send_denial_response(refusal.response())
        return
    await websocket.accept()
    await serve_session(state, WebSocketConnection(websocket, state.settings.send_timeout_s))


def _refusal(state: ServerState) -> ApiError | None:
    if state.draining:
        return ApiError(503, "The server is shutting down", headers=RETRY_AFTER)
    if state.speaker.failure is not None:
        return ApiError(503, f"The engine cannot speak: {state.speaker.failure}")
    if not state.speaker.ready:
        return ApiError(503, "The engine is still loading", headers=RETRY_AFTER)
    if len(state.sessions) >= state.settings.max_connections:
        return ApiError(503, f"{state.settings.max_connections} connections are open", headers=RETRY_AFTER)
    return None


async def serve_session(state: ServerState, connection: Connection) -> None:
    """Run a session on a connection of any kind until it ends."""
    runner = _runner(state, connection)
    state.enter(runner)
    outcome = "failed"
    try:
        await runner.run()
        outcome = "served"
    except Exception:
        log.exception("session.crashed")
        await connection.close(1011, "internal error")
    finally:
        state.leave(runner, outcome)


def _runner(state: ServerState, connection: Connection) -> SessionRunner:
    settings, speaker = state.settings, state.speaker
    sample_rate = speaker.engine.info.sample_rate
    session = SpeechSession(
        replace(DIALECTS[settings.dialect], sample_rate=sample_rate),
        limits=Limits(config_timeout_s=settings.config_timeout_s, idle_timeout_s=settings.idle_timeout_s),
        check_model=speaker.check_model,
        now=speaker.scheduler.now(),
    )
    listener = speaker.scheduler.listener(settings.listening_pace)
    return SessionRunner(
        connection,
        session,
        listener,
        sample_rate=sample_rate,
        on_first_chunk=state.metrics.first_chunk_s.observe,
    )
