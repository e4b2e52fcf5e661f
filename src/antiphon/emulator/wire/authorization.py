"""What a request says of its own signature, checked as far as that goes without the key."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from antiphon.emulator.wire.errors import AwsError

ALGORITHM = "AWS4-HMAC-SHA256"
TERMINATOR = "aws4_request"


class SignatureError(AwsError):
    """A request or an event is not signed as it must be; `name` is what AWS calls it."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(name, 403, message)


@dataclass(frozen=True, slots=True)
class Authorization:
    """The header ``Authorization``.

    Attributes:
        access_key_id: who signed.
        scope: day, region, service and terminator.
        signed: names of the headers that were signed.
        signature: in hex.
    """

    access_key_id: str
    scope: tuple[str, ...]
    signed: tuple[str, ...]
    signature: str


def parse_authorization(header: str | None) -> Authorization:
    """Read the header.

    Raises:
        SignatureError: there is none, or it is incomplete.
    """
    if not header:
        raise SignatureError("MissingAuthenticationTokenException", "Missing Authentication Token")
    algorithm, _, rest = header.partition(" ")
    if algorithm != ALGORITHM:
        raise incomplete(f"Authorization header requires the algorithm {ALGORITHM}.")
    fields = dict(pair.strip().partition("=")[::2] for pair in rest.split(","))
    try:
        credential, signed, signature = fields["Credential"], fields["SignedHeaders"], fields["Signature"]
    except KeyError as missing:
        raise incomplete(f"Authorization header requires {missing} parameter.") from None
    access_key_id, *scope = credential.split("/")
    if len(scope) != 4:
        raise incomplete(f"Credential must be KEY/DATE/REGION/SERVICE/{TERMINATOR}.")
    if not signature.isascii():
        raise mismatch()
    return Authorization(access_key_id, tuple(scope), tuple(signed.split(";")), signature)


def parse_date(header: str | None) -> int:
    """Read the time at which a request was signed: seconds since the Unix epoch.

    Raises:
        SignatureError: there is none, or it is no date.
    """
    if header is None:
        raise incomplete("Authorization header requires existence of an 'X-Amz-Date' header.")
    try:
        return int(datetime.strptime(header, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC).timestamp())
    except ValueError:
        raise incomplete("Date must be in ISO-8601 'basic format'.") from None


def check_scope(authorization: Authorization, date: int, region: str, service: str) -> None:
    """Check what a signature is good for.

    Raises:
        SignatureError: not for this day, region or service.
    """
    wanted = {"date": timestamp(date)[:8], "region": region, "service": service, "terminator": TERMINATOR}
    for (what, value), given in zip(wanted.items(), authorization.scope, strict=True):
        if given != value:
            raise invalid(f"Credential should be scoped to a valid {what}: '{value}'.")


def check_skew(date: int, now: float, max_skew_s: float) -> None:
    """Check when a request was signed.

    Raises:
        SignatureError: too long ago, or too far ahead.
    """
    bound = f"{timestamp(int(now))}, {max_skew_s / 60:g} min."
    if date < now - max_skew_s:
        raise invalid(f"Signature expired: {timestamp(date)} is now too early ({bound}).")
    if date > now + max_skew_s:
        raise invalid(f"Signature not yet current: {timestamp(date)} is still too late ({bound}).")


def check_signed(authorization: Authorization, given: Mapping[str, str]) -> None:
    """Check that the host and all of AWS's own headers are signed, and that what is signed is there.

    Raises:
        SignatureError: one is not.
    """
    signed = authorization.signed
    if "host" not in signed:
        raise invalid("'Host' or ':authority' must be a 'SignedHeader' in the AWS Authorization.")
    unsigned = sorted(name for name in given if name.startswith("x-amz-") and name not in signed)
    if unsigned:
        raise invalid(f"There were headers present in the request which were not signed: {', '.join(unsigned)}")
    if not given.keys() >= set(signed):
        raise mismatch()


def timestamp(epoch_s: int) -> str:
    """Write a time as signatures have it, YYYYMMDDTHHMMSSZ."""
    return datetime.fromtimestamp(epoch_s, UTC).strftime("%Y%m%dT%H%M%SZ")


def mismatch() -> SignatureError:
    """Refuse a signature that is another than it should be."""
    return invalid(
        "The request signature we calculated does not match the signature you provided. "
        "Check your AWS Secret Access Key and signing method. Consult the service documentation for details."
    )


def invalid(message: str) -> SignatureError:
    """Refuse a signature."""
    return SignatureError("InvalidSignatureException", message)


def incomplete(message: str) -> SignatureError:
    """Refuse what is hardly a signature."""
    return SignatureError("IncompleteSignatureException", message)
