"""Who calls, where, and with which keys: the AWS configuration, as boto3 reads it."""

import asyncio
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from antiphon.client.errors import ConnectError, TargetError
from antiphon.client.sagemaker.target import SageMakerTarget, check_endpoint_url, check_region

PORT = 8443
"""Of bidirectional streams. On 443 AWS accepts the connection and never answers."""

_SERVICE = "sagemaker_runtime_http2"
_CHINA = "cn-"
_MAX_REMEMBERED = 16


@dataclass(frozen=True, slots=True)
class Keys:
    """What requests are signed with; the same for a whole stream, whose events are signed in a chain."""

    access_key_id: str = field(repr=False)
    secret_access_key: str = field(repr=False)
    session_token: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Account:
    """How to reach the runtime.

    Attributes:
        region: that requests are signed for.
        host: of the runtime.
        port: of the runtime.
        ca_file: certificates to trust, in PEM, as the AWS configuration or the environment has it.
        keys: to sign with.
    """

    region: str
    host: str
    port: int
    ca_file: str | None
    keys: Keys

    @property
    def url(self) -> str:
        """The runtime's URL; always with its port."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"https://{host}:{self.port}"


async def load_account(target: SageMakerTarget, ca_file: str | None = None) -> Account:
    """Read the configuration and get keys; they may come from files, a program or the network.

    To cancel this does not stop a program or request that has begun; nothing waits for it.

    Args:
        target: names what is not to come from the configuration.
        ca_file: instead of the configured one.

    Raises:
        TargetError: the region, the profile or the endpoint URL is missing or wrong.
        ConnectError: there are no credentials, or they could not be had.
    """
    return await in_thread(lambda: read_account(target, ca_file))


def read_account(target: SageMakerTarget, ca_file: str | None = None) -> Account:
    """As `load_account`, for as long as it takes."""
    from botocore.exceptions import BotoCoreError, ClientError, ProfileNotFound  # noqa: PLC0415 - an extra

    try:
        return _read(target, ca_file)
    except ProfileNotFound:
        name = target.profile or os.environ.get("AWS_PROFILE", "")
        raise TargetError(
            f"there is no AWS profile {name!r}; `aws configure list-profiles` shows those there are"
        ) from None
    except ClientError as error:
        code = error.response.get("Error", {}).get("Code", "an error")
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        raise ConnectError(f"AWS credentials were refused: {code}", retryable=status >= 500 or status == 429) from None
    except BotoCoreError as error:
        raise _explain(error) from None


def _read(target: SageMakerTarget, ca_file: str | None) -> Account:
    import botocore.session  # noqa: PLC0415 - an extra, and slow to import

    session = botocore.session.Session(profile=target.profile)
    region = _region(target, session)
    url = urlsplit(_endpoint_url(target, session) or _aws_url(region))
    return Account(
        region=region,
        host=url.hostname or "",
        port=url.port or PORT,
        ca_file=ca_file or session.get_config_variable("ca_bundle") or os.environ.get("SSL_CERT_FILE") or None,
        keys=_freeze(_credentials(target, session)),
    )


def _region(target: SageMakerTarget, session: Any) -> str:
    # boto3 looks at AWS_DEFAULT_REGION and the profile; the other SDKs of AWS, and this one, at AWS_REGION.
    region = target.region or os.environ.get("AWS_REGION") or session.get_config_variable("region")
    if not region:
        raise TargetError(f"no AWS region: add ?region=us-east-1 to {target}, or set AWS_REGION")
    return check_region(region)


def _aws_url(region: str) -> str:
    suffix = "amazonaws.com.cn" if region.startswith(_CHINA) else "amazonaws.com"
    return f"https://runtime.sagemaker.{region}.{suffix}"


def _endpoint_url(target: SageMakerTarget, session: Any) -> str | None:
    """Follow AWS's order: https://docs.aws.amazon.com/sdkref/latest/guide/feature-ss-endpoints.html."""
    if target.endpoint_url:
        return check_endpoint_url(target.endpoint_url)
    if session.get_config_variable("ignore_configured_endpoint_urls"):
        return None
    profile = session.get_scoped_config()
    services = session.full_config.get("services", {}).get(profile.get("services"), {})
    configured = {
        f"AWS_ENDPOINT_URL_{_SERVICE.upper()}": os.environ.get(f"AWS_ENDPOINT_URL_{_SERVICE.upper()}"),
        "AWS_ENDPOINT_URL": os.environ.get("AWS_ENDPOINT_URL"),
        f"the profile's service {_SERVICE}": services.get(_SERVICE, {}).get("endpoint_url"),
        "the profile's endpoint_url": profile.get("endpoint_url"),
    }
    for where, url in configured.items():
        if url:
            try:
                return check_endpoint_url(url)
            except TargetError as error:
                raise TargetError(f"{where}: {error}") from None
    return None


_remembered: dict[tuple[object, ...], Any] = {}


def _credentials(target: SageMakerTarget, session: Any) -> Any:
    """The credentials; those that refresh themselves are kept, so that not every stream asks AWS for new ones."""
    key = (target.profile, *sorted(item for item in os.environ.items() if item[0].startswith("AWS_")))
    credentials = _remembered.get(key) or session.get_credentials()
    if credentials is None:
        raise ConnectError(
            "no AWS credentials: run `aws configure` or `aws sso login`, or set AWS_PROFILE or AWS_ACCESS_KEY_ID"
        )
    if hasattr(credentials, "refresh_needed"):
        if len(_remembered) >= _MAX_REMEMBERED:
            _remembered.clear()
        _remembered[key] = credentials
    return credentials


def _freeze(credentials: Any) -> Keys:
    frozen = credentials.get_frozen_credentials()
    if not frozen.access_key or not frozen.secret_key:
        raise ConnectError("the AWS credentials are empty: check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
    return Keys(frozen.access_key, frozen.secret_key, frozen.token)


def _explain(error: Exception) -> ConnectError:
    from botocore.exceptions import CredentialRetrievalError, HTTPClientError  # noqa: PLC0415 - an extra

    if isinstance(error, HTTPClientError):
        return ConnectError("AWS credentials could not be had: no answer from AWS", retryable=True)
    if isinstance(error, CredentialRetrievalError):
        # Its message repeats what a program printed, which may be a secret.
        provider = getattr(error, "kwargs", {}).get("provider", "the provider")
        return ConnectError(f"AWS credentials could not be had from {provider}")
    return ConnectError(f"AWS credentials could not be had: {error}")


async def in_thread[T](work: Callable[[], T]) -> T:
    """Run `work` beside the loop, in a thread that no program's end waits for."""
    loop = asyncio.get_running_loop()
    outcome: asyncio.Future[T] = loop.create_future()

    def settle(set_outcome: Callable[[Any], None], value: object) -> None:
        if not outcome.done():
            set_outcome(value)

    def run() -> None:
        try:
            settled: tuple[Callable[[Any], None], object] = (outcome.set_result, work())
        except BaseException as error:  # noqa: BLE001 - raised where it is awaited
            settled = (outcome.set_exception, error)
        try:
            loop.call_soon_threadsafe(settle, *settled)
        except RuntimeError:
            return  # the loop has closed; nobody waits

    threading.Thread(target=run, name="antiphon-aws-configuration", daemon=True).start()
    return await outcome
