"""Signature Version 4: of a request (AWS IAM user guide, "Create a signed AWS API request"), and of events.

Each event's signature (``AWS4-HMAC-SHA256-PAYLOAD``) is bound to the one before. A client wraps an event: the outer
message carries its date and its signature, its payload is the whole inner message. An empty payload ends the input.
"""

import hmac
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from struct import Struct

from antiphon.emulator.wire.authorization import (
    ALGORITHM,
    TERMINATOR,
    SignatureError,
    check_scope,
    check_signed,
    check_skew,
    invalid,
    mismatch,
    parse_authorization,
    parse_date,
    timestamp,
)
from antiphon.emulator.wire.canonical import canonical_headers, canonical_path, canonical_query, joined
from antiphon.emulator.wire.eventstream import Message, Timestamp

__all__ = ["EventChain", "SignatureError", "SigningKeys", "VerifiedRequest", "verify_request"]

STREAMING_EVENTS = "STREAMING-AWS4-HMAC-SHA256-EVENTS"
UNSIGNED = "UNSIGNED-PAYLOAD"
_DATE, _SIGNATURE = ":date", ":chunk-signature"
_DATE_HEADER = Struct(">6sBq")


@dataclass(frozen=True, slots=True)
class SigningKeys:
    """Who may sign, and for what.

    Attributes:
        secrets: by access key id.
        region: for which requests are signed.
        service: for which requests are signed.
        max_skew_s: how far a date may be from now.
    """

    secrets: Mapping[str, str] = field(repr=False)
    region: str
    service: str = "sagemaker"
    max_skew_s: float = 900.0

    def derive(self, access_key_id: str, day: str) -> bytes:
        """Derive the key that signs on a day, YYYYMMDD."""
        key = ("AWS4" + self.secrets[access_key_id]).encode()
        for part in (day, self.region, self.service, TERMINATOR):
            key = _sign(key, part)
        return key


@dataclass(frozen=True, slots=True)
class VerifiedRequest:
    """A request whose signature is right.

    Attributes:
        access_key_id: who signed it.
        keys: among which that one is; it signs the events too.
        signature: in hex; the first link of the chain of event signatures.
    """

    access_key_id: str
    keys: SigningKeys
    signature: str


def verify_request(  # noqa: PLR0913, PLR0917 - a signature covers all that a request has
    method: str,
    raw_path: str,
    raw_query: str,
    headers: Iterable[tuple[str, str]],
    keys: SigningKeys,
    now: float,
    body_sha256: str | None,
) -> VerifiedRequest:
    """Verify a request's signature.

    Args:
        method: of HTTP.
        raw_path: as on the wire.
        raw_query: as on the wire, without the question mark.
        headers: all of them, names in any case, bytes of the wire read as Latin-1; ``:authority`` stands for ``host``.
        keys: who may sign.
        now: seconds since the Unix epoch.
        body_sha256: of the body, in hex; None if the body is a stream of events that are signed one by one.

    Raises:
        SignatureError: the request is not signed, or not as it must be.
    """
    given = joined(headers)
    authorization = parse_authorization(given.get("authorization"))
    date = parse_date(given.get("x-amz-date"))
    check_scope(authorization, date, keys.region, keys.service)
    check_skew(date, now, keys.max_skew_s)
    check_signed(authorization, given)
    if authorization.access_key_id not in keys.secrets:
        raise SignatureError("UnrecognizedClientException", "The security token included in the request is invalid.")
    canonical = (
        f"{method.upper()}\n{canonical_path(raw_path)}\n{canonical_query(raw_query)}\n"
        f"{canonical_headers(given, authorization.signed)}\n{';'.join(authorization.signed)}\n"
        f"{_payload_hash(given.get('x-amz-content-sha256'), body_sha256)}"
    )
    digest = sha256(canonical.encode("latin-1", "replace")).hexdigest()
    text = f"{ALGORITHM}\n{timestamp(date)}\n{'/'.join(authorization.scope)}\n{digest}"
    expected = _sign(keys.derive(authorization.access_key_id, authorization.scope[0]), text).hex()
    if not hmac.compare_digest(expected, authorization.signature):
        raise mismatch()
    return VerifiedRequest(authorization.access_key_id, keys, expected)


def _payload_hash(declared: str | None, body_sha256: str | None) -> str:
    """Choose what stands for the body in what was signed."""
    if body_sha256 is None:
        if declared != STREAMING_EVENTS:
            raise invalid(f"x-amz-content-sha256 must be {STREAMING_EVENTS}")
        return STREAMING_EVENTS
    if declared in {None, UNSIGNED, body_sha256}:
        return declared or body_sha256
    raise mismatch()


class EventChain:
    """Verifies the events of one request, in order.

    Args:
        request: that opened the stream; its signature is the first link.
        clock: seconds since the Unix epoch.
    """

    def __init__(self, request: VerifiedRequest, clock: Callable[[], float]) -> None:
        self._keys = request.keys
        self._access_key_id = request.access_key_id
        self._clock = clock
        self._prior = request.signature
        self._second = -1
        self._stamp = self._scope = ""
        self._key = b""
        self._ended = False

    def unwrap(self, outer: Message) -> bytes:
        """Verify an event and give the one inside, encoded; nothing at the end of the input.

        Raises:
            SignatureError: it is not signed, not by the request's key, not in its place, or not now.
        """
        headers = outer.headers
        date, signature = headers.get(_DATE), headers.get(_SIGNATURE)
        if len(headers) != 2 or not isinstance(date, Timestamp) or not isinstance(signature, bytes):
            raise invalid("an event must be signed: with :date and :chunk-signature, and no other header")
        if self._ended:
            raise invalid("an event follows the one that ended the input")
        self._turn_to(date.ms)
        expected = _sign(self._key, self._text(date.ms, outer.payload))
        if not hmac.compare_digest(expected, signature):
            raise invalid("an event's signature does not match: it was changed, or is not in its place")
        self._prior = expected.hex()
        self._ended = not outer.payload
        return outer.payload

    def _text(self, ms: int, payload: bytes) -> str:
        header = _DATE_HEADER.pack(b"\x05:date", 8, ms)
        return (
            f"AWS4-HMAC-SHA256-PAYLOAD\n{self._stamp}\n{self._scope}\n{self._prior}\n"
            f"{sha256(header).hexdigest()}\n{sha256(payload).hexdigest()}"
        )

    def _turn_to(self, ms: int) -> None:
        """Take an event's date; a stream that lasts past midnight has another key then."""
        if abs(ms / 1000 - self._clock()) > self._keys.max_skew_s:
            raise invalid("an event's date is too far from now")
        second = ms // 1000
        if second == self._second:
            return
        day = self._stamp[:8]
        self._second, self._stamp = second, timestamp(second)
        if self._stamp[:8] != day:
            day = self._stamp[:8]
            self._scope = f"{day}/{self._keys.region}/{self._keys.service}/{TERMINATOR}"
            self._key = self._keys.derive(self._access_key_id, day)


def _sign(key: bytes, text: str) -> bytes:
    return hmac.digest(key, text.encode(), "sha256")
