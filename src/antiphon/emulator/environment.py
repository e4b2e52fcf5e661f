"""The variables that point AWS's tools, and everything made with its SDKs, at a local SageMaker."""

import shlex
from collections.abc import Mapping
from pathlib import Path

from antiphon.emulator.settings import Credentials

# They would win over the keys, be sent beside them, or lead elsewhere than the URLs do.
UNSET = ("AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS")

type Environment = Mapping[str, str | None]
"""Variables; None is to be unset."""


def environment(url: str, region: str, keys: Credentials, bundle: Path) -> Environment:
    """Return what a client needs.

    Args:
        url: of the runtime, ``https://HOST:PORT``.
        region: that requests are signed for.
        keys: that they are signed with.
        bundle: of the authorities to trust.
    """
    return {
        "AWS_ENDPOINT_URL_SAGEMAKER_RUNTIME_HTTP2": url,
        "AWS_ENDPOINT_URL_SAGEMAKER_RUNTIME": url,
        "AWS_ACCESS_KEY_ID": keys.access_key_id,
        "AWS_SECRET_ACCESS_KEY": keys.secret_access_key,
        "AWS_REGION": region,
        "AWS_DEFAULT_REGION": region,
        "SSL_CERT_FILE": str(bundle),
        "AWS_CA_BUNDLE": str(bundle),
        **dict.fromkeys(UNSET),
    }


def as_shell(variables: Environment) -> str:
    """Return lines for ``eval`` of a POSIX shell."""
    return "".join(
        f"unset {name}\n" if value is None else f"export {name}={shlex.quote(value)}\n"
        for name, value in variables.items()
    )


def runtime_url(host: str, port: int) -> str:
    """Return where a runtime that listens so is found; one that listens everywhere is found here."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - nothing is bound here
    return f"https://{f'[{host}]' if ':' in host else host}:{port}"
