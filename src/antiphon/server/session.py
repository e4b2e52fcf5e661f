"""Runs one session: carries frames, units and audio between the socket, the session machine and the scheduler.

Two tasks: one receives, one does all else. The machine decides everything; this only waits.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

from antiphon.audio.pcm import PcmChunk
from antiphon.engines.contract import EngineError, EngineLostError
from antiphon.protocol import SessionConfig, SpeechSession
from antiphon.protocol.events import (
    Abort,
    AudioChunk,
    CloseConnection,
    ConfigureSplitter,
    CutOff,
    Disconnected,
    Effect,
    Event,
    Feed,
    Flush,
    Flushed,
    OutputSent,
    Play,
    Prepare,
    Received,
    Send,
    SendAudio,
    Shutdown,
    TimePassed,
    UnitCompleted,
    UnitFailed,
    UnitReady,
)
from antiphon.scheduling import CapacityError, Job, Listener, Pace
from antiphon.server.connection import Connection, ConnectionLostError
from antiphon.server.logs import log
from antiphon.server.units import Framing, WholeFile, speech_unit
from antiphon.text.stock import StockSplitter
from antiphon.text.units import Unit

# What a client may have sent ahead of the machine's own bound, or of a socket that takes nothing. Beyond either mark
# nothing more is received, and so it is not noticed either when the client leaves.
BACKLOG_MESSAGES = 4096
BACKLOG_CHARS = 1024 * 1024
WHOLE_FILE_PACE = Pace("asap")
# What a session came to, by the code it was closed with; the reasons are in `protocol.closing`.
OUTCOMES = {1000: "served", 1001: "served", 1003: "refused", 1008: "refused", 1011: "failed", 1012: "failed"}


@dataclass(slots=True)
class _Prepared:
    """A unit the machine knows: its job, or why it has none; and its file, when its audio is kept until it is whole."""

    config: SessionConfig
    job: Job | None = None
    refusal: str = ""
    file: WholeFile | None = None


class SessionRunner:
    """Drives a `SpeechSession` on a connection until either ends.

    Args:
        connection: accepted.
        session: fresh.
        listener: whose jobs are this session's units.
        framing: the engine's sample rate, and how audio is cut.

    Attributes:
        outcome: once it has run, ``served`` if whoever left got all they had asked for, ``lost`` if they left before,
            ``refused`` for what the client did and ``failed`` for what the server could not do.
    """

    outcome = "failed"

    def __init__(self, connection: Connection, session: SpeechSession, listener: Listener, *, framing: Framing) -> None:
        self._connection = connection
        self._session = session
        self._listener = listener
        self._framing = framing
        self._splitter = StockSplitter("none")
        self._clock = asyncio.get_running_loop().time
        self._prepared: dict[int, _Prepared] = {}
        self._playing: _Prepared | None = None
        self._backlog: deque[str | bytes] = deque()
        self._backlog_chars = 0
        self._backlog_shrank = asyncio.Event()
        self._outbox: deque[Send | SendAudio | CloseConnection] = deque()
        self._wake = asyncio.Event()
        self._shutdown_due = False
        self._alarm: asyncio.TimerHandle | None = None

    async def run(self) -> None:
        """Serve until the session or the connection ends; leaves no task, timer or job behind."""
        try:
            async with asyncio.TaskGroup() as tasks:
                receiving = tasks.create_task(self._receive())
                await self._work()
                receiving.cancel()
        finally:
            self._listener.close()
            if self._alarm is not None:
                self._alarm.cancel()

    def shut_down(self) -> None:
        """Let the session end at the next point where nothing is cut off."""
        self._shutdown_due = True
        self._wake.set()

    def cut_off(self) -> None:
        """Let the session end now, whatever it is saying."""
        self._outbox.clear()
        self._step(CutOff())

    # The task that receives. It goes on while the machine does not read, to notice a client that leaves.

    async def _receive(self) -> None:
        while (data := await self._connection.receive()) is not None:
            self._backlog.append(data)
            self._backlog_chars += len(data)
            self._wake.set()
            while len(self._backlog) >= BACKLOG_MESSAGES or self._backlog_chars >= BACKLOG_CHARS:
                self._backlog_shrank.clear()
                await self._backlog_shrank.wait()
        if not self._session.closed:
            # The machine has a deadline only while it waits for nothing but the client.
            waiting = self._session.next_deadline is not None and not self._backlog
            self.outcome = "served" if waiting else "lost"
        self._step(Disconnected())

    def _next_message(self) -> Received:
        data = self._backlog.popleft()
        self._backlog_chars -= len(data)
        self._backlog_shrank.set()
        return Received(data)

    # The task that does all else, which is the one that `run` is called in.

    async def _work(self) -> None:
        try:
            while await self._send_outbox():
                await self._do_one_thing()
        except ConnectionLostError:
            self.outcome = "lost"
            self._step(Disconnected())

    async def _send_outbox(self) -> bool:
        """Send what waits to be sent; False when that was the end."""
        if not self._outbox:
            return not self._session.closed
        while self._outbox:
            effect = self._outbox.popleft()
            if isinstance(effect, CloseConnection):
                self.outcome = OUTCOMES[effect.code]
                await self._connection.close(effect.code, effect.reason)
                return False
            await self._connection.send(effect.message.to_json() if isinstance(effect, Send) else effect.data)
        self._step(OutputSent())
        return not self._session.closed

    async def _do_one_thing(self) -> None:
        """Do one thing that can be done now, or wait until there is one."""
        deadline = self._session.next_deadline
        if self._backlog and self._session.reading:
            self._step(self._next_message())
        elif self._shutdown_due:
            self._shutdown_due = False
            self._step(Shutdown())
        elif deadline is not None and deadline <= self._clock():
            self._step(TimePassed())
        elif self._playing is None or not await self._progress(self._playing):
            self._wake.clear()
            self._set_alarm()
            await self._wake.wait()

    async def _progress(self, playing: _Prepared) -> bool:
        """Pass on what the unit's job has; False when it has nothing now."""
        job = playing.job
        if job is None:
            self._finish(UnitFailed(playing.refusal))
        elif (chunk := job.take()) is not None:
            self._pass_on(playing, job, chunk)
        elif not job.finished:
            return False
        elif job.error is not None:
            self._finish(UnitFailed(_explain(job.error), fatal=isinstance(job.error, EngineLostError)))
        elif playing.file is not None:
            await self._deliver(playing.file)
        else:
            self._finish(UnitCompleted())
        return True

    def _pass_on(self, playing: _Prepared, job: Job, chunk: PcmChunk) -> None:
        if playing.file is None:
            for frame in self._framing.frames(chunk.data):
                self._step(AudioChunk(frame))
            return
        try:
            playing.file.add(chunk)
        except EngineError as error:
            job.close()
            self._finish(UnitFailed(str(error)))

    async def _deliver(self, file: WholeFile) -> None:
        try:
            data = await file.encode()
        except Exception as error:  # noqa: BLE001 - an encoder's fault ends its unit, as an engine's does
            self._finish(UnitFailed(_explain(error)))
            return
        # If the client has gone meanwhile, the machine is closed and this has no effect.
        self._step(AudioChunk(data))
        self._finish(UnitCompleted())

    def _finish(self, event: UnitCompleted | UnitFailed) -> None:
        self._playing = None
        self._step(event)

    # The machine.

    def _step(self, event: Event) -> None:
        for effect in self._session.receive(event, self._clock()):
            self._HANDLERS[type(effect)](self, effect)
        self._wake.set()

    def _post(self, effect: Send | SendAudio | CloseConnection) -> None:
        self._outbox.append(effect)

    def _prepare(self, effect: Prepare) -> None:
        prepared = self._prepared[effect.unit_id] = _Prepared(effect.config)
        # Nobody hears a file before it is whole, so there is no playback to be ahead of.
        pace = None if effect.config.stream_audio else WHOLE_FILE_PACE
        try:
            prepared.job = self._listener.submit(speech_unit(effect.text, effect.config), self._wake.set, pace)
        except CapacityError as error:
            prepared.refusal = str(error)

    def _play(self, effect: Play) -> None:
        playing = self._playing = self._prepared.pop(effect.unit_id)
        if not playing.config.stream_audio:
            playing.file = WholeFile(playing.config.response_format, self._framing.sample_rate)

    def _abort(self, _: Abort) -> None:
        self._playing = None
        self._prepared.clear()
        self._listener.close()

    def _configure_splitter(self, effect: ConfigureSplitter) -> None:
        self._splitter = StockSplitter(effect.granularity)

    def _feed(self, effect: Feed) -> None:
        self._give(self._splitter.feed(effect.text))

    def _flush(self, _: Flush) -> None:
        self._give(self._splitter.flush())
        self._step(Flushed())

    def _give(self, units: list[Unit]) -> None:
        for unit in units:
            self._step(UnitReady(unit.text, unit.start, unit.end))

    # Of the class, not of each session: bound methods would tie a session to itself, and what it held would wait for
    # the garbage collector. A handler takes its own effect, which a mapping by type cannot express.
    _HANDLERS: ClassVar[Mapping[type[Effect], Callable[["SessionRunner", Any], None]]] = MappingProxyType(
        {
            Send: _post,
            SendAudio: _post,
            CloseConnection: _post,
            Prepare: _prepare,
            Play: _play,
            Abort: _abort,
            ConfigureSplitter: _configure_splitter,
            Feed: _feed,
            Flush: _flush,
        }
    )

    # The clock.

    def _set_alarm(self) -> None:
        """Be woken at the machine's deadline; too early does no harm, so an alarm only ever moves forward."""
        deadline = self._session.next_deadline
        if deadline is None or (self._alarm is not None and self._alarm.when() <= deadline):
            return
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm = asyncio.get_running_loop().call_at(deadline, self._ring)

    def _ring(self) -> None:
        self._alarm = None
        self._wake.set()


def _explain(error: Exception) -> str:
    """What the client may know: an engine's own message, never the inside of a fault of ours."""
    if isinstance(error, EngineError):
        return str(error)
    log.error("synthesis.crashed", exc_info=error)
    return "internal error"
