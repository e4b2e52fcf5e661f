"""Who may come in: the reasons, other than the request itself, to turn a client away."""

from antiphon.server.errors import RETRY_AFTER, ApiError
from antiphon.server.state import ServerState


def not_serving(state: ServerState) -> ApiError | None:
    """Why nobody is served now; None when the server can speak."""
    if state.draining:
        return ApiError(503, "The server is shutting down", headers=RETRY_AFTER)
    if state.speaker.failure is not None:
        return ApiError(503, f"The engine cannot speak: {state.speaker.failure}")
    if not state.speaker.ready:
        return ApiError(503, "The engine is still loading", headers=RETRY_AFTER)
    return None


def no_session(state: ServerState) -> ApiError | None:
    """Why no further WebSocket session is opened now; None when one is."""
    reason = not_serving(state)
    if reason is None and len(state.sessions) >= state.settings.max_connections:
        return ApiError(503, f"{state.settings.max_connections} connections are open", headers=RETRY_AFTER)
    return reason
