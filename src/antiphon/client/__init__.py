"""One asynchronous API, and a synchronous face of it, for every speech server."""

from antiphon.client.errors import (
    BacklogError,
    ConnectError,
    ConnectionLostError,
    GenerationError,
    OptionError,
    PlayerError,
    RecordingFullError,
    ServerFaultError,
    SessionRefusedError,
    SpeechError,
    TargetError,
    TooManyUtterancesError,
    VoiceClosedError,
)
from antiphon.client.events import Audio, Event, Finished, UnitDone, UnitSkipped, UnitStarted
from antiphon.client.options import SpeechOptions
from antiphon.client.player import Player
from antiphon.client.recorder import WavRecorder
from antiphon.client.sources import TextSource
from antiphon.client.statistics import Statistics
from antiphon.client.sync import Utterance as SyncUtterance
from antiphon.client.sync import Voice as SyncVoice
from antiphon.client.sync import connect as connect_sync
from antiphon.client.utterance import Utterance
from antiphon.client.voice import Voice, connect
from antiphon.text.auto import AutoOptions

__all__ = [
    "Audio",
    "AutoOptions",
    "BacklogError",
    "ConnectError",
    "ConnectionLostError",
    "Event",
    "Finished",
    "GenerationError",
    "OptionError",
    "Player",
    "PlayerError",
    "RecordingFullError",
    "ServerFaultError",
    "SessionRefusedError",
    "SpeechError",
    "SpeechOptions",
    "Statistics",
    "SyncUtterance",
    "SyncVoice",
    "TargetError",
    "TextSource",
    "TooManyUtterancesError",
    "UnitDone",
    "UnitSkipped",
    "UnitStarted",
    "Utterance",
    "Voice",
    "VoiceClosedError",
    "WavRecorder",
    "connect",
    "connect_sync",
]
