"""The WebSocket route ``/v1/audio/speech/stream``."""

from dataclasses import replace

from starlette.websockets import WebSocket

from antiphon.protocol import DIALECTS, Limits, SpeechSession
from antiphon.server.admission import no_session
from antiphon.server.connection import Connection, WebSocketConnection
from antiphon.server.logs import log
from antiphon.server.session import SessionRunner
from antiphon.server.state import ServerState
from antiphon.server.units import Framing


async def speech_stream(websocket: WebSocket) -> None:
    """Accept a client, or say over HTTP why not, and serve its session."""
    state: ServerState = websocket.app.state.server
    refusal = no_session(state)
    if refusal is not None:
        state.metrics.sessions_total.labels("refused").inc()
        await websocket.send_denial_response(refusal.response())
        return
    await websocket.accept()
    with WebSocketConnection(websocket, state.settings.send_timeout_s) as connection:
        await serve_session(state, connection)


async def serve_session(state: ServerState, connection: Connection) -> None:
    """Run a session on a connection of any kind until it ends; a fault of ours ends this session only."""
    runner = _runner(state, connection)
    state.enter(runner)
    try:
        await runner.run()
    except Exception:  # noqa: BLE001 - the barrier between sessions
        runner.outcome = "failed"
        log.exception("session.crashed")
        await connection.close(1011, "internal error")
    finally:
        state.leave(runner)


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
    return SessionRunner(connection, session, listener, framing=Framing(sample_rate, settings.chunk_ms))
