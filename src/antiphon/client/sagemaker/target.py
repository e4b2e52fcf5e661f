"""A SageMaker endpoint as a target: ``sagemaker://ENDPOINT[?region=…&variant=…&path=…&profile=…&endpoint_url=…]``."""

import re
from dataclasses import dataclass
from typing import Self
from urllib.parse import parse_qsl, urlsplit

from antiphon.client.errors import TargetError

STREAM_SCHEME = "sagemaker"
"""Speech over ``InvokeEndpointWithBidirectionalStream``."""

INVOKE_SCHEME = "sagemaker-invoke"
"""Speech over ``InvokeEndpointWithResponseStream``, the text fixed up front."""

_DEFAULT_PATHS = {STREAM_SCHEME: "v1/audio/speech/stream", INVOKE_SCHEME: "v1/audio/speech"}
_URL_SCHEMES = {STREAM_SCHEME: ("https",), INVOKE_SCHEME: ("https", "http")}
_OPTIONS = ("region", "variant", "path", "profile", "endpoint_url")

# As the service's model has them (Smithy com.amazonaws.sagemakerruntimehttp2, 2025-10-01).
_NAME = re.compile(r"[a-zA-Z0-9](-*[a-zA-Z0-9]){0,62}")
_MAX_NAME = 63
_PATH = re.compile(r"[A-Za-z0-9\-._]+(?:/[A-Za-z0-9\-._]+)*")
_MAX_PATH = 100
# Becomes a part of the host name that requests are sent to, so nothing else may hide in it.
_REGION = re.compile(r"[a-z0-9](?:-?[a-z0-9]){0,62}")


@dataclass(frozen=True, slots=True)
class SageMakerTarget:
    """Which endpoint to call, and how to reach it.

    Attributes:
        scheme: `STREAM_SCHEME` or `INVOKE_SCHEME`.
        endpoint: the endpoint's name.
        path: what to call inside the container, without a leading slash.
        region: None for that of the profile and the environment.
        variant: the production variant; None lets SageMaker choose.
        profile: of the AWS configuration files; None for that of the environment.
        endpoint_url: of the runtime, instead of AWS's; may name no port. None for that of the environment, or AWS's.
    """

    scheme: str
    endpoint: str
    path: str
    region: str | None = None
    variant: str | None = None
    profile: str | None = None
    endpoint_url: str | None = None

    def __str__(self) -> str:
        """Name the endpoint for people, without what the query holds."""
        return f"{self.scheme}://{self.endpoint}"

    @classmethod
    def parse(cls, target: str) -> Self:
        """Read a target.

        Args:
            target: such as ``sagemaker://qwen3-tts?region=us-west-2``. Values are percent-encoded as in any query.

        Raises:
            TargetError: it is none; the message says what to write instead.
        """
        try:
            parts = urlsplit(target.strip())
        except ValueError as error:
            raise TargetError(f"the target is not a URL: {error}") from None
        scheme = parts.scheme.lower()
        if scheme not in _DEFAULT_PATHS:
            raise TargetError(f"a SageMaker target begins with {STREAM_SCHEME}:// or {INVOKE_SCHEME}://")
        if "@" in parts.netloc:
            raise TargetError("a target is no place for a secret: set AWS_PROFILE, or add ?profile=…")
        _check_name("endpoint", parts.netloc, f"{scheme}://ENDPOINT, for example {scheme}://qwen3-tts")
        if parts.path not in {"", "/"} or parts.fragment:
            raise TargetError(f"write {scheme}://ENDPOINT?path=… for another path of the container")
        options = _read_options(parts.query)
        path = _read_path(options.pop("path", _DEFAULT_PATHS[scheme]))
        _check_options(options, scheme)
        return cls(scheme, parts.netloc, path, **options)


def check_region(region: str) -> str:
    """Return `region`, if a host name can be made of it.

    Raises:
        TargetError: it cannot.
    """
    if not _REGION.fullmatch(region):
        raise TargetError(f"{region!r} is no AWS region; one looks like us-east-1")
    return region


def check_endpoint_url(url: str, scheme: str = STREAM_SCHEME) -> str:
    """Return `url`, if it can be that of a runtime.

    Args:
        url: of the runtime, without path.
        scheme: of the target; a bidirectional stream needs ``https``.

    Raises:
        TargetError: it cannot; the message does not repeat it, as it may hold a secret.
    """
    allowed = _URL_SCHEMES[scheme]
    try:
        parts = urlsplit(url)
        usable = parts.scheme in allowed and parts.hostname and parts.port != 0 and "@" not in parts.netloc
    except ValueError:
        usable = False
    if not usable or parts.path not in {"", "/"} or parts.query or parts.fragment or re.search(r"[\s\x00-\x1f]", url):
        raise TargetError(f"the endpoint URL must be {' or '.join(allowed)}://HOST[:PORT], and nothing more")
    return url


def _check_name(what: str, name: str, example: str) -> None:
    if len(name) > _MAX_NAME or not _NAME.fullmatch(name):
        raise TargetError(
            f"{what} {name!r} cannot exist: up to {_MAX_NAME} letters, digits and hyphens between them; write {example}"
        )


def _read_options(query: str) -> dict[str, str]:
    options: dict[str, str] = {}
    for name, value in parse_qsl(query, keep_blank_values=True):
        if name not in _OPTIONS:
            raise TargetError(f"unknown option {name!r} in the target; there are: {', '.join(_OPTIONS)}")
        if not value or name in options:
            raise TargetError(f"the target's option {name} needs one value; leave it out for the default")
        options[name] = value
    return options


def _read_path(path: str) -> str:
    path = path.removeprefix("/")
    if len(path) > _MAX_PATH or not _PATH.fullmatch(path):
        raise TargetError(
            f"the path {path!r} cannot be called: up to {_MAX_PATH} letters, digits, '-', '.', '_' and '/' between them"
        )
    return path


def _check_options(options: dict[str, str], scheme: str) -> None:
    if "region" in options:
        check_region(options["region"])
    if "variant" in options:
        _check_name("variant", options["variant"], "?variant=AllTraffic")
    if "endpoint_url" in options:
        check_endpoint_url(options["endpoint_url"], scheme)
