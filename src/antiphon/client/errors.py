"""What can go wrong for a client, each with whether it is worth trying again."""


class SpeechError(Exception):
    """Speech could not be had.

    Args:
        message: for people.
        retryable: the same call may succeed later, or on another server.
    """

    def __init__(self, message: str, *, retryable: bool = False) -> None:
        super().__init__(message)
        self.retryable = retryable


class TargetError(SpeechError, ValueError):
    """The target is not one that can be connected to; the message says what one looks like."""


class OptionError(SpeechError, ValueError):
    """An option that does not exist, or with a value that no server takes."""


class ConnectError(SpeechError):
    """No session could be opened: nobody answers, the key is wrong, or it is no speech server."""


class ConnectionLostError(SpeechError):
    """The connection ended while speech was still to come.

    Attributes:
        code: the WebSocket close code (RFC 6455 §7.4.1); 1006 when there was no close frame.
        reason: the server's words; may be empty.
    """

    def __init__(self, code: int, reason: str, said: str | None = None) -> None:
        detail = "; ".join(part for part in (reason, said) if part)
        message = f"connection lost (code {code}{': ' if detail else ''}{detail})"
        super().__init__(message, retryable=code not in _OWN_FAULTS)
        self.code = code
        self.reason = reason


class SessionRefusedError(SpeechError):
    """The server does not speak in the way that was asked for; its own words follow."""


class ServerFaultError(SpeechError):
    """The server broke the protocol or stopped answering."""


class GenerationError(SpeechError):
    """The server failed to speak a unit. The utterance ends here; the voice can be used on.

    Attributes:
        unit: index of the unit within the utterance.
        partial_audio: some of its audio has been given already and should be discarded.
    """

    def __init__(self, message: str, *, unit: int, partial_audio: bool) -> None:
        super().__init__(message, retryable=message.endswith(_TRANSIENT))
        self.unit = unit
        self.partial_audio = partial_audio


class BacklogError(SpeechError):
    """More text was written than may wait, and nobody listens."""


class TooManyUtterancesError(SpeechError):
    """As many utterances are open as may be on one voice; close those that are done with."""


class VoiceClosedError(SpeechError):
    """The voice or the utterance was closed by its owner."""


class PlayerError(SpeechError):
    """There is no player, or it gave up."""


class RecordingFullError(SpeechError):
    """The file holds as much audio as it may."""


# A failed generation has no code on the wire, only words. These are what a server of ours says when it has no room
# and when it ends; nothing else is known to pass.
_TRANSIENT = ("listeners are speaking, which is all this server can keep gap-free", "the server is shutting down")

# Close codes (RFC 6455 §7.4.1) for what would go wrong again: data that does not fit, a policy, a message too big.
_OWN_FAULTS = frozenset({1003, 1007, 1008, 1009})
