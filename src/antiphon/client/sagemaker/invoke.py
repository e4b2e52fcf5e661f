"""The target ``sagemaker-invoke://ENDPOINT``: speech with plain boto3, where the bidirectional stream is not to be had.

The text of each unit travels whole, in an invocation of its own, to the route that a header names; see
`antiphon.client.sagemaker.target` for what a target may say.
"""

import asyncio
import logging
import os
from typing import TYPE_CHECKING, Any

from antiphon.client.errors import ConnectError, TargetError
from antiphon.client.sagemaker.credentials import in_thread
from antiphon.client.sagemaker.invocation import PartStream
from antiphon.client.sagemaker.target import SageMakerTarget, check_region
from antiphon.client.targets import ConnectOptions

if TYPE_CHECKING:
    from antiphon.client.sagemaker.invoke_transport import InvokeTransport

INSTALL = "speech over SageMaker needs boto3: pip install 'antiphon[sagemaker]'"

READ_TIMEOUT_S = 70.0
"""Without a byte; SageMaker itself gives a container 60 s to begin."""

MAX_ATTEMPTS = 3
"""Until an answer has begun, whatever it is; from then on nothing is tried again."""

# At DEBUG they log requests and every event of a response.
_TALKATIVE = ("botocore.endpoint", "botocore.parsers")


class _AbandonedError(Exception):
    """The session was closed while a call was being tried again."""


async def open_invoke(target: str, options: ConnectOptions) -> "InvokeTransport":
    """Open a session; the endpoint itself is first called for the first unit.

    Raises:
        TargetError: it cannot be one.
        ConnectError: there is no boto3, no region, no credentials, or the authorities' file cannot be read.
    """
    endpoint = SageMakerTarget.parse(target)
    try:
        from antiphon.client.sagemaker.invoke_transport import InvokeTransport  # noqa: PLC0415 - boto3 is an extra
    except ImportError as error:
        raise ConnectError(f"{INSTALL} ({error})") from None
    if options.ssl_context is not None:
        raise ConnectError("boto3 takes no ssl_context; pass ca_file, or set AWS_CA_BUNDLE")
    try:
        async with asyncio.timeout(options.connect_timeout_s):
            caller = await in_thread(lambda: _Caller(endpoint, options))
    except TimeoutError:
        late = f"{endpoint}: no AWS credentials were had within {options.connect_timeout_s:g} s"
        raise ConnectError(late, retryable=True) from None
    return InvokeTransport(caller.invoke, caller.close)


class _Caller:
    """A boto3 client and what it calls. All of it blocks."""

    def __init__(self, endpoint: SageMakerTarget, options: ConnectOptions) -> None:
        self._parameters = _parameters(endpoint)
        self._client = _make_client(endpoint, options)
        self._closed = False
        self._client.meta.events.register("before-send.sagemaker-runtime", self._before_send)

    def invoke(self, body: bytes) -> PartStream:
        """Call; returns when the answer has begun."""
        response = self._client.invoke_endpoint_with_response_stream(Body=body, **self._parameters)
        stream: PartStream = response["Body"]
        return stream

    def close(self) -> None:
        """Let go of the connections."""
        self._closed = True
        self._client.close()

    def _before_send(self, **_: Any) -> None:
        if self._closed:
            raise _AbandonedError


def _parameters(endpoint: SageMakerTarget) -> dict[str, str]:
    parameters = {
        "EndpointName": endpoint.endpoint,
        "ContentType": "application/json",
        "CustomAttributes": f"route=/{endpoint.path}",
    }
    return parameters if endpoint.variant is None else {**parameters, "TargetVariant": endpoint.variant}


def _make_client(endpoint: SageMakerTarget, options: ConnectOptions) -> Any:
    import botocore.session  # noqa: PLC0415 - an extra, and slow to import
    from botocore.exceptions import BotoCoreError, ProfileNotFound  # noqa: PLC0415 - as above

    _hush()
    try:
        session = botocore.session.Session(profile=endpoint.profile)
        region = _region(endpoint, session)
        _check_credentials(session)
        return session.create_client(
            "sagemaker-runtime",
            region_name=region,
            endpoint_url=endpoint.endpoint_url,  # None is for that of the environment and the profile, or AWS's
            verify=_authorities(session, options),
            config=_config(options),
        )
    except TargetError:
        raise
    except ProfileNotFound:
        name = endpoint.profile or os.environ.get("AWS_PROFILE", "")
        raise TargetError(
            f"there is no AWS profile {name!r}; `aws configure list-profiles` shows those there are"
        ) from None
    except (BotoCoreError, ValueError) as error:
        raise ConnectError(f"{endpoint}: {error}") from None


def _config(options: ConnectOptions) -> Any:
    from botocore.config import Config  # noqa: PLC0415 - as above

    return Config(
        connect_timeout=options.connect_timeout_s,
        read_timeout=READ_TIMEOUT_S,
        retries={"mode": "standard", "total_max_attempts": MAX_ATTEMPTS},
        max_pool_connections=1,
        tcp_keepalive=True,
    )


def _region(endpoint: SageMakerTarget, session: Any) -> str:
    # boto3 looks at AWS_DEFAULT_REGION and the profile; the other SDKs of AWS at AWS_REGION.
    region = endpoint.region or os.environ.get("AWS_REGION") or session.get_config_variable("region")
    if not region:
        raise TargetError(f"no AWS region: add ?region=us-east-1 to {endpoint}, or set AWS_REGION")
    return check_region(region)


def _check_credentials(session: Any) -> None:
    """Get credentials now, not in the first call: files, a program or the network may be asked for them."""
    credentials = session.get_credentials()
    if credentials is None:
        raise ConnectError(
            "no AWS credentials: run `aws configure` or `aws sso login`, or set AWS_PROFILE or AWS_ACCESS_KEY_ID"
        )
    credentials.get_frozen_credentials()


def _authorities(session: Any, options: ConnectOptions) -> str | None:
    path = options.ca_file or session.get_config_variable("ca_bundle") or os.environ.get("SSL_CERT_FILE") or None
    if path is not None and not os.access(path, os.R_OK):
        raise ConnectError(f"cannot read the authorities in {path}")
    return path


def _hush() -> None:
    """Keep text and audio out of logs. Whoever wants them there sets the level of these very loggers."""
    for name in _TALKATIVE:
        logger = logging.getLogger(name)
        if logger.level == logging.NOTSET:
            logger.setLevel(logging.INFO)
