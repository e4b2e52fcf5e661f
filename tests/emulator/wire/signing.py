"""Requests and events signed by the SDKs' own signers."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import sha256
from urllib.parse import urlsplit

from aws_sdk_signers import (
    URI,
    AsyncSigV4Signer,
    AWSCredentialIdentity,
    AWSRequest,
    Field,
    Fields,
    SigV4SigningProperties,
)
from aws_sdk_signers.signers import AsyncEventSigner
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest as BotocoreRequest
from botocore.credentials import Credentials
from smithy_aws_event_stream.events import EventHeaderEncoder, EventMessage

from antiphon.emulator.wire.eventstream import Message, decode
from antiphon.emulator.wire.sigv4 import SigningKeys, VerifiedRequest, verify_request

KEYS = SigningKeys({"AKIDEXAMPLE": "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "OTHER": "other"}, "us-east-1")
PATH = "/endpoints/qwen3-tts/invocations-bidirectional-stream"
EVENT_STREAM = "application/vnd.amazon.eventstream"

Headers = tuple[tuple[str, str], ...]


def seconds(date: str) -> float:
    return datetime.strptime(date, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC).timestamp()


@dataclass(frozen=True, slots=True)
class Signed:
    """A request as it is on the wire; `body` is None where events are signed one by one."""

    method: str
    path: str
    query: str
    headers: Headers
    body: bytes | None

    @property
    def date(self) -> float:
        return seconds(dict(self.headers)["x-amz-date"])

    def with_header(self, name: str, value: str | None) -> "Signed":
        others = tuple((key, old) for key, old in self.headers if key != name)
        return replace(self, headers=others if value is None else (*others, (name, value)))

    def verify(self, keys: SigningKeys = KEYS, now: float | None = None) -> VerifiedRequest:
        digest = None if self.body is None else sha256(self.body).hexdigest()
        now = self.date if now is None else now
        return verify_request(self.method, self.path, self.query, self.headers, keys, now, digest)


def by_botocore(
    url: str = "https://127.0.0.1:8443/endpoints/qwen3-tts/invocations",
    headers: dict[str, str] | None = None,
    body: bytes = b'{"input": "Hello"}',
    *,
    token: str | None = None,
    key: str = "AKIDEXAMPLE",
    unsigned_payload: bool = False,
) -> Signed:
    """Sign as boto3 does."""
    request = BotocoreRequest("POST", url, data=body, headers=headers or {})
    request.context["payload_signing_enabled"] = not unsigned_payload
    SigV4Auth(Credentials(key, KEYS.secrets[key], token), KEYS.service, KEYS.region).add_auth(request)
    parts = urlsplit(url)
    given = [("host", parts.netloc), *((name.lower(), value) for name, value in request.headers.items())]
    return Signed("POST", parts.path, parts.query, tuple(given), body)


def identity(token: str | None = None) -> AWSCredentialIdentity:
    return AWSCredentialIdentity(
        access_key_id="AKIDEXAMPLE", secret_access_key=KEYS.secrets["AKIDEXAMPLE"], session_token=token
    )


def properties(date: str | None = None) -> SigV4SigningProperties:
    properties = SigV4SigningProperties(region=KEYS.region, service=KEYS.service)
    if date is not None:
        properties["date"] = date
    return properties


async def by_sdk(
    path: str = PATH,
    query: str = "",
    headers: Iterable[tuple[str, str]] = (),
    *,
    token: str | None = None,
    date: str | None = None,
) -> Signed:
    """Sign a bidirectional stream's request as the AWS SDK does."""
    fields = Fields([Field(name=name, values=[value]) for name, value in (("content-type", EVENT_STREAM), *headers)])
    destination = URI(scheme="https", host="127.0.0.1", port=8443, path=path, query=query)
    request = AWSRequest(destination=destination, method="POST", body=None, fields=fields)
    signed = await AsyncSigV4Signer().sign(request=request, identity=identity(token), properties=properties(date))
    given = [(":authority", "127.0.0.1:8443"), *((field.name.lower(), field.as_string()) for field in signed.fields)]
    return Signed("POST", path, query, tuple(given), None)


class Events:
    """Signs events as the AWS SDK does, now."""

    def __init__(self, seed: str) -> None:
        self._signer = AsyncEventSigner(initial_signature=seed.encode(), event_encoder_cls=EventHeaderEncoder)

    async def sign(self, payload: bytes) -> Message:
        headers = {":message-type": "event", ":event-type": "PayloadPart"}
        event = EventMessage(headers=headers, payload=payload)
        signed = await self._signer.sign(event=event, identity=identity(), properties=properties())
        return decode(signed.encode())

    async def end(self) -> Message:
        signed = await self._signer.sign_empty(event=EventMessage(), identity=identity(), properties=properties())
        return decode(signed.encode())
