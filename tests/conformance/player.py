"""Plays scripts against a server and keeps what it answered."""

import asyncio
import json
from collections.abc import Iterable
from dataclasses import dataclass, field

from tests.conformance.script import Abort, Close, Connect, Script, Send, SendInText, Sleep, Step, Wait, WaitClosed
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

PROBE = "conformance.probe"
_PROBE_ANSWER = f'"Unknown message type: {PROBE}"}}'

_SCRIPT_TIMEOUT_S = 30.0
_CONNECTIONS = 12  # at a time and server


@dataclass(frozen=True, slots=True)
class Event:
    """A text frame, as it came."""

    raw: str

    @property
    def type(self) -> str:
        """The event's type."""
        return str(json.loads(self.raw)["type"])


@dataclass(frozen=True, slots=True)
class Frame:
    """A binary frame."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Ended:
    """The connection's end.

    Attributes:
        how: ``alive`` (it answered the probe), ``server`` or ``client`` (who closed it), ``stuck``.
        code: the close code that the client saw.
        reason: the close reason.
    """

    how: str
    code: int | None = None
    reason: str = ""


type Entry = Event | Frame | Ended
type Transcript = list[Entry]


async def play_all(scripts: Iterable[Script], url: str) -> dict[str, Transcript]:
    """Play `scripts` against the server at `url`, several at a time; return each one's transcript by name."""
    places = asyncio.Semaphore(_CONNECTIONS)

    async def play_one(script: Script) -> tuple[str, Transcript]:
        async with places:
            return script.name, await play(script, url)

    return dict(await asyncio.gather(*map(play_one, scripts)))


async def play(script: Script, url: str) -> Transcript:
    """Play one script; a server that does not answer ends its transcript with ``stuck``."""
    player = _Player(url)
    try:
        async with asyncio.timeout(_SCRIPT_TIMEOUT_S):
            await player.play(script.steps)
    except TimeoutError:
        player.transcript.append(Ended("stuck"))
    finally:
        player.abort()
    return player.transcript


@dataclass
class _Player:
    url: str
    transcript: Transcript = field(default_factory=list)
    _socket: ClientConnection | None = None

    async def play(self, steps: Iterable[Step]) -> None:
        await self._connect()
        for step in steps:
            await self._take(step)
        if self._socket is not None:
            await self._probe(self._socket)

    async def _take(self, step: Step) -> None:
        match step:
            case Connect():
                await self._connect()
            case Sleep(seconds):
                await asyncio.sleep(seconds)
            case _ if self._socket is None:
                pass  # the server has closed it; what it said until then is what counts
            case Send() | SendInText():
                await self._send(self._socket, step)
            case Wait(event, count):
                for _ in range(count):
                    await self._read_until(event)
            case WaitClosed():
                await self._read_until("")
            case Close(code, reason):
                await self._socket.close(code, reason)
                self._end("client", self._socket.close_code)
            case Abort():
                self.abort()
                self._end("client")

    async def _connect(self) -> None:
        # Nothing may hold the reader back: a script may send without end while the server answers.
        self._socket = await connect(
            self.url, compression=None, max_size=None, max_queue=None, ping_interval=None, close_timeout=5
        )

    async def _send(self, socket: ClientConnection, step: Send | SendInText) -> None:
        try:
            if isinstance(step, SendInText):
                await socket.send(step.data, text=True)
            else:
                await socket.send(step.data)
        except ConnectionClosed:
            pass  # the next read tells how

    async def _read_until(self, event: str) -> None:
        """Read up to an event of a type, or to the end of the connection."""
        while self._socket is not None:
            try:
                data = await self._socket.recv()
            except ConnectionClosed:
                self._end("server", self._socket.close_code, self._socket.close_reason or "")
                return
            entry = Event(data) if isinstance(data, str) else Frame(data)
            self.transcript.append(entry)
            if event and event == _kind(entry):
                return

    async def _probe(self, socket: ClientConnection) -> None:
        """Read what is still to come; a session that answers the probe and stays open is alive."""
        await self._send(socket, Send(json.dumps({"type": PROBE})))
        while self._socket is not None:
            await self._read_until("error")
            if isinstance(last := self.transcript[-1], Event) and last.raw.endswith(_PROBE_ANSWER):
                await socket.close()
                self._end("alive")

    def _end(self, how: str, code: int | None = None, reason: str = "") -> None:
        self._socket = None
        self.transcript.append(Ended(how, code, reason))

    def abort(self) -> None:
        """Drop the connection, if there is one."""
        if self._socket is not None:
            self._socket.transport.abort()


def _kind(entry: Event | Frame) -> str:
    if isinstance(entry, Event):
        return entry.type
    return "audio" if entry.data else ""
