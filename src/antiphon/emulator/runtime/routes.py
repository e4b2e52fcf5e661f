"""From a request to who answers it."""

import time
from collections.abc import Callable
from dataclasses import dataclass

import httpx

from antiphon.emulator.runtime.alive import Alive
from antiphon.emulator.runtime.bidirectional import Bidirectional
from antiphon.emulator.runtime.budget import Room
from antiphon.emulator.runtime.container import Target
from antiphon.emulator.runtime.http2_events import Request
from antiphon.emulator.runtime.input_frames import InputFrames, Unwrap, unwrap_unverified
from antiphon.emulator.runtime.invoke import invocation
from antiphon.emulator.runtime.ports import Registry
from antiphon.emulator.runtime.sidecar import Sidecar
from antiphon.emulator.runtime.stream import Handler, Stream, refuse
from antiphon.emulator.runtime.timings import Timings
from antiphon.emulator.wire import errors, requests, sigv4
from antiphon.emulator.wire.errors import AwsError

_INVALID_STREAM = errors.input_validation("").name

MAX_STREAMS = 4096
"""Bidirectional streams at once, on all connections together."""

MAX_UNFINISHED_BYTES = 256 * 2**20
"""Of events that were begun, on all of them together; each may be as large as an event's payload."""


class Refusal:
    """Answers with an error."""

    def __init__(self, stream: Stream, error: AwsError) -> None:
        self._stream = stream
        self._error = error

    def begin(self) -> None:
        """Answer."""
        refuse(self._stream, self._error)

    def _nothing(self, *_: object) -> None:
        """Whatever happens then is of no interest."""

    received = ended = lost = pause_output = resume_output = stop = _nothing


@dataclass(frozen=True, slots=True)
class Head:
    """What a request says before its body."""

    method: str
    target: str
    headers: list[tuple[str, str]]

    @classmethod
    def of(cls, request: Request) -> "Head":
        """Take the pseudo-headers of HTTP/2 for what they are in HTTP/1.1."""
        pseudo = {name: value for name, value in request.headers if name.startswith(":")}
        headers = [(name, value) for name, value in request.headers if not name.startswith(":")]
        if ":authority" in pseudo:
            headers = [("host", pseudo[":authority"]), *(header for header in headers if header[0] != "host")]
        return cls(pseudo.get(":method", ""), pseudo.get(":path", ""), headers)


class Router:
    """Finds who answers a request.

    Args:
        registry: The endpoints.
        keys: Who may invoke them; None lets everyone, and takes events that are not signed.
        timings: See `Timings`.
        sidecars: The WebSockets to containers.
        client: For all other requests to them.
    """

    def __init__(
        self,
        registry: Registry,
        keys: sigv4.SigningKeys | None,
        timings: Timings,
        sidecars: Alive[Sidecar],
        client: httpx.AsyncClient,
    ) -> None:
        self._registry = registry
        self._keys = keys
        self._timings = timings
        self._sidecars = sidecars
        self._room = Room(MAX_UNFINISHED_BYTES)
        self._client = client

    def http2(self, request: Request, stream: Stream) -> Handler:
        """Find who answers; what nobody can answer is answered with the reason."""
        return self._route(request, stream, self._bidirectional)

    def http1(self, request: Request, stream: Stream) -> Handler:
        """As `http2`, for a protocol in which nothing is answered before all is asked."""
        return self._route(request, stream, _needs_http2)

    def _route(self, request: Request, stream: Stream, bidirectional: "_Bidirectional") -> Handler:
        head = Head.of(request)
        try:
            call = self._parse(head)
            _note(stream, call)
            if isinstance(call, requests.Bidirectional):
                return bidirectional(call, head, stream)
            return self._invocation(call, head, stream)
        except AwsError as error:
            return Refusal(stream, error)

    def _parse(self, head: Head) -> requests.Call:
        """Find out what is asked for; of a stream that may not be, its signature is what is wrong first."""
        try:
            return requests.parse(head.method, head.target, head.headers)
        except AwsError as error:
            if self._keys is not None and error.name == _INVALID_STREAM:
                _verify(head, self._keys, None)
            raise

    def _bidirectional(self, call: requests.Bidirectional, head: Head, stream: Stream) -> Handler:
        unwrap: Unwrap = unwrap_unverified
        if self._keys is not None:
            unwrap = sigv4.EventChain(_verify(head, self._keys, None), time.time).unwrap
        target, frames = self._find(call), InputFrames(unwrap)
        if len(self._sidecars) >= MAX_STREAMS:
            raise call.unavailable(f"{MAX_STREAMS} streams are open, as many as may be")
        return Bidirectional(stream, target, call.container_path, frames, self._timings, self._sidecars, self._room)

    def _invocation(self, call: requests.Invoke, head: Head, stream: Stream) -> Handler:
        def admit(body_sha256: str) -> Target:
            if self._keys is not None:
                _verify(head, self._keys, body_sha256)
            return self._find(call)

        return invocation(stream, call, admit, self._client, self._timings)

    def _find(self, call: requests.Call) -> Target:
        """Find the endpoint, and the variant that answers."""
        backend = self._registry.find(call.endpoint)
        if backend is None:
            raise call.invalid(f"Endpoint {call.endpoint} not found.")
        if not backend.in_service:
            raise call.invalid(f"Endpoint {call.endpoint} is not in service.")
        variant = call.target_variant or backend.variants[0]
        if variant not in backend.variants:
            raise call.invalid(f"Endpoint {call.endpoint} has no variant {variant}.")
        return Target(backend.url, call.endpoint, variant)


_Bidirectional = Callable[[requests.Bidirectional, Head, Stream], Handler]


def _needs_http2(call: requests.Bidirectional, _head: Head, _stream: Stream) -> Handler:
    raise call.invalid("a bidirectional stream needs HTTP/2: offer h2 in the TLS handshake (ALPN)")


def _verify(head: Head, keys: sigv4.SigningKeys, body_sha256: str | None) -> sigv4.VerifiedRequest:
    path, _, query = head.target.partition("?")
    return sigv4.verify_request(head.method, path, query, head.headers, keys, time.time(), body_sha256)


def _note(stream: Stream, call: requests.Call) -> None:
    path = call.invocation_path if isinstance(call, requests.Bidirectional) else None
    stream.note("request", operation=call.operation, endpoint=call.endpoint, variant=call.target_variant, path=path)
