"""What the client machine reports of the utterances it was given.

Utterances and units are named by the numbers that `ClientSession.begin` and `ClientSession.speak` returned.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SpeechStarted:
    """The server has begun to speak a unit.

    Attributes:
        sample_rate: samples per second of its audio.
    """

    utterance: int
    unit: int
    sample_rate: int


@dataclass(frozen=True, slots=True)
class SpeechAudio:
    """Audio of the unit that started last.

    Attributes:
        data: s16le mono samples, a whole number of them, at least one.
    """

    utterance: int
    unit: int
    data: bytes
    sample_rate: int


@dataclass(frozen=True, slots=True)
class SpeechDone:
    """All audio of the unit that started last has been reported.

    Attributes:
        busy_s: how long the server worked on it, as seen from here: from when it could begin to its last audio.
    """

    utterance: int
    unit: int
    busy_s: float


@dataclass(frozen=True, slots=True)
class SpeechSkipped:
    """The server found nothing to say in a unit, such as punctuation alone, and never started it."""

    utterance: int
    unit: int


@dataclass(frozen=True, slots=True)
class UtteranceDone:
    """All units of an utterance are complete, and no more will come."""

    utterance: int


@dataclass(frozen=True, slots=True)
class UtteranceFailed:
    """An utterance ends here; its remaining text is not sent, its late audio not reported. The session goes on.

    Attributes:
        unit: the one that failed; None when the server refused how the utterance was to be spoken.
        message: the server's.
        partial_audio: some audio of `unit` had been reported already.
    """

    utterance: int
    unit: int | None
    message: str
    partial_audio: bool = False


@dataclass(frozen=True, slots=True)
class SessionFailed:
    """The session is of no more use; close the connection.

    Attributes:
        message: the server's, or what was wrong with what it sent.
        refused: the server does not accept the session as it was asked for; asking again will not help.
    """

    message: str
    refused: bool


type ClientEvent = (
    SpeechStarted | SpeechAudio | SpeechDone | SpeechSkipped | UtteranceDone | UtteranceFailed | SessionFailed
)
