"""Why the server closes a connection, and the close frame that says so."""

from enum import Enum


class CloseCause(Enum):
    """Each cause with its close code (RFC 6455 §7.4.1), its reason, and when it happens.

    vLLM-Omni sends a close frame (1000) for `session.close` alone and otherwise drops the connection, which a
    client sees as 1006. Here the same error message is followed by a close frame: 1008 for what the client did
    wrong and would do wrong again, 1003 for a kind of frame that is not spoken, 1001 for a connection nobody uses
    or a server that ends (reconnect when needed), 1012 for speech that a server cut off because it ends and 1011
    for what it could not do (say it again, elsewhere or later).
    """

    REQUESTED = (1000, "session.close", "the client sent session.close; what it had flushed has been spoken")
    IDLE = (1001, "idle timeout", "no message for the idle timeout while nothing was being spoken")
    SHUTDOWN = (1001, "server is shutting down", "the server ends; what was begun has been spoken")
    CUT_OFF = (1012, "server is shutting down and could not wait", "the server ends; speech was cut off or not begun")
    BINARY_FRAME = (1003, "binary frames are not accepted", "the client sent a binary frame")
    NO_CONFIG = (1008, "timeout waiting for session.config", "no message within the config timeout")
    BAD_START = (1008, "a valid session.config must come first", "the first message is not a valid session.config")
    INVALID_REQUEST = (1008, "invalid speech request", "the config contradicts itself, found when a unit is built")
    SYNTHESIS_LOST = (1011, "synthesis is not possible", "the engine was lost while a unit was spoken")

    def __init__(self, code: int, reason: str, when: str) -> None:
        self.code = code
        self.reason = reason
        self.when = when
