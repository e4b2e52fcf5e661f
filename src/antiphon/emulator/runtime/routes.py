"""From a request to who answers it."""

import time
from dataclasses import dataclass

from antiphon.emulator.runtime.alive import Alive
from antiphon.emulator.runtime.bidirectional import Bidirectional, Container
from antiphon.emulator.runtime.http2_events import Request
from antiphon.emulator.runtime.input_frames import InputFrames, Unwrap, unwrap_unverified
from antiphon.emulator.runtime.ports import Backend, Registry
from antiphon.emulator.runtime.sidecar import Sidecar
from antiphon.emulator.runtime.stream import Handler, Stream, refuse
from antiphon.emulator.runtime.timings import Timings
from antiphon.emulator.wire import requests, sigv4
from antiphon.emulator.wire.errors import AwsError


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
        sidecars: The connections to containers.
    """

    def __init__(
        self, registry: Registry, keys: sigv4.SigningKeys | None, timings: Timings, sidecars: Alive[Sidecar]
    ) -> None:
        self._registry = registry
        self._keys = keys
        self._timings = timings
        self._sidecars = sidecars

    def route(self, request: Request, stream: Stream) -> Handler:
        """Find who answers; what nobody can answer is answered with the reason."""
        head = Head.of(request)
        try:
            call = requests.parse(head.method, head.target, head.headers)
            stream.note(
                "request",
                operation=call.operation,
                endpoint=call.endpoint,
                variant=call.target_variant,
                path=getattr(call, "invocation_path", None),
            )
            if isinstance(call, requests.Bidirectional):
                return self._bidirectional(call, head, stream)
        except AwsError as error:
            return Refusal(stream, error)
        raise NotImplementedError

    def _bidirectional(self, call: requests.Bidirectional, head: Head, stream: Stream) -> Handler:
        unwrap = self._authenticate(head)
        backend, variant = self._find(call)
        container = Container(backend.url, call.container_path, variant)
        return Bidirectional(stream, container, InputFrames(unwrap), self._timings, self._sidecars)

    def _authenticate(self, head: Head) -> Unwrap:
        """Verify who asks, and give what verifies the events."""
        if self._keys is None:
            return unwrap_unverified
        path, _, query = head.target.partition("?")
        verified = sigv4.verify_request(head.method, path, query, head.headers, self._keys, time.time(), None)
        return sigv4.EventChain(verified, time.time).unwrap

    def _find(self, call: requests.Call) -> tuple[Backend, str]:
        """Find the endpoint, and the variant that answers."""
        backend = self._registry.find(call.endpoint)
        if backend is None:
            raise call.invalid(f"Endpoint {call.endpoint} not found.")
        if not backend.in_service:
            raise call.invalid(f"Endpoint {call.endpoint} is not in service.")
        variant = call.target_variant or backend.variants[0]
        if variant not in backend.variants:
            raise call.invalid(f"Endpoint {call.endpoint} has no variant {variant}.")
        return backend, variant
