"""What the server still has to answer, in the order in which it was sent.

A stock server handles its messages strictly in order and answers neither configs nor text, only flushes. So an
answer to one entry settles every entry before it.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import takewhile

from antiphon.protocol.messages import AudioDone, AudioStart, SessionConfig, SessionDone


@dataclass(slots=True, eq=False)
class Utterance:
    """Units to be spoken in one manner.

    Attributes:
        waiting: number and text of the units that were not sent yet.
        units: how many units it was given so far.
        at_server: how many were sent and are not over.
        finished: no more units will be given.
        dropped: failed or abandoned; nothing more of it is sent or reported.
    """

    id: int
    config: SessionConfig
    waiting: deque[tuple[int, str]] = field(default_factory=deque)
    units: int = 0
    at_server: int = 0
    finished: bool = False
    dropped: bool = False

    @property
    def complete(self) -> bool:
        """Everything was given, sent and spoken."""
        return self.finished and not self.waiting and not self.at_server


@dataclass(slots=True, eq=False)
class Configured:
    """A config that the server has not yet been seen to accept."""

    config: SessionConfig


@dataclass(slots=True, eq=False)
class Flush:
    """An ``input.done`` whose ``session.done`` is to come.

    Attributes:
        index: the wire's ``utterance_index``: flushes since the connection opened.
        utterance: whose unit it speaks; None for one that only ends a keepalive.
        sample_rate: of its audio, once it has started.
        odd_byte: half a sample that waits for its other half.
        audio_at: when its last audio came.
        failed: the server says that what it sent of it is not to be used.
    """

    index: int
    utterance: Utterance | None
    unit: int
    sent_at: float
    sample_rate: int | None = None
    odd_byte: bytes = b""
    audio_at: float | None = None
    failed: bool = False

    def busy_s(self, free_at: float, now: float) -> float:
        """How long the server, free since `free_at`, worked on what is over `now`."""
        return (now if self.audio_at is None else self.audio_at) - max(self.sent_at, free_at)


class Ledger:
    """Configs and flushes without an answer."""

    def __init__(self) -> None:
        self._entries: deque[Configured | Flush] = deque()
        self._flushes = 0

    def add_config(self, config: SessionConfig) -> None:
        """Note a config that is being sent."""
        self._entries.append(Configured(config))

    def add_flush(self, utterance: Utterance | None, unit: int, now: float) -> None:
        """Note an ``input.done`` that is being sent."""
        self._entries.append(Flush(self._flushes, utterance, unit, sent_at=now))
        self._flushes += 1

    @property
    def flushes(self) -> Iterator[Flush]:
        """Those without an answer, oldest first."""
        return (entry for entry in self._entries if isinstance(entry, Flush))

    @property
    def owed(self) -> bool:
        """Whether the server has anything to answer."""
        return any(True for _ in self.flushes)

    @property
    def oldest(self) -> Configured | Flush | None:
        """What the server works on."""
        return self._entries[0] if self._entries else None

    def find(self, message: AudioStart | AudioDone | SessionDone) -> Flush | None:
        """The flush that a message is about; the oldest one when it does not say."""
        if "utterance_index" not in message.model_fields_set:
            return next(self.flushes, None)
        return next((flush for flush in self.flushes if flush.index == message.utterance_index), None)

    def settle_before(self, flush: Flush) -> list[Flush]:
        """Forget everything before `flush`, whose turn has come, and return the flushes among it."""
        settled: list[Flush] = []
        while (entry := self._entries[0]) is not flush:
            self._entries.popleft()
            if isinstance(entry, Flush):
                settled.append(entry)
        return settled

    def pop(self) -> None:
        """Forget the oldest entry."""
        self._entries.popleft()

    def utterances_before_next_config(self) -> list[Utterance]:
        """Whose units are spoken under the config in force at the oldest entry; each once, without dropped ones."""
        flushes = takewhile(lambda entry: isinstance(entry, Flush), self._entries)
        utterances = {flush.utterance: None for flush in flushes if isinstance(flush, Flush)}
        return [utterance for utterance in utterances if utterance is not None and not utterance.dropped]
