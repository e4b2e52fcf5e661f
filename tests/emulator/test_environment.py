"""The exports: complete, quoted, and understood by a shell."""

import os
import subprocess
from pathlib import Path

import boto3
import pytest
from botocore.exceptions import BotoCoreError

from antiphon.emulator.environment import UNSET, as_shell, environment, runtime_url
from antiphon.emulator.settings import Credentials

KEYS = Credentials("ANTIPHONAAAA", 'it\'s $(a) "secret" `here`')


def test_a_shell_has_them_afterwards_and_nothing_that_would_win_over_them(tmp_path: Path) -> None:
    bundle = tmp_path / "a folder; with 'quotes'" / "bundle.pem"
    exports = as_shell(environment("https://127.0.0.1:8443", "eu-west-1", KEYS, bundle))
    before = {"PATH": os.environ["PATH"], **dict.fromkeys(UNSET, "true")}
    shown = subprocess.run(
        ["sh", "-c", 'eval "$1" && env -0', "sh", exports], env=before, capture_output=True, check=True, text=True
    ).stdout
    after = dict(line.split("=", 1) for line in shown.split("\0") if line)
    assert {name: value for name, value in after.items() if name.startswith(("AWS", "SSL"))} == {
        "AWS_ENDPOINT_URL_SAGEMAKER_RUNTIME_HTTP2": "https://127.0.0.1:8443",
        "AWS_ENDPOINT_URL_SAGEMAKER_RUNTIME": "https://127.0.0.1:8443",
        "AWS_ACCESS_KEY_ID": KEYS.access_key_id,
        "AWS_SECRET_ACCESS_KEY": KEYS.secret_access_key,
        "AWS_REGION": "eu-west-1",
        "AWS_DEFAULT_REGION": "eu-west-1",
        "SSL_CERT_FILE": str(bundle),
        "AWS_CA_BUNDLE": str(bundle),
    }


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "https://127.0.0.1:1"),
        ("0.0.0.0", "https://127.0.0.1:1"),  # noqa: S104 - nothing is bound
        ("::", "https://[::1]:1"),
        ("example.org", "https://example.org:1"),
    ],
)
def test_where_it_is_found(host: str, url: str) -> None:
    assert runtime_url(host, 1) == url


@pytest.mark.parametrize("name", UNSET)
def test_what_would_win_over_them_is_named(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    variables = environment("https://127.0.0.1:8443", "eu-west-1", Credentials("AKID", "secret"), tmp_path / "bundle")
    for variable, value in variables.items():
        monkeypatch.delenv(variable, raising=False)
        if value is not None:
            monkeypatch.setenv(variable, value)
    assert _leads_here()
    monkeypatch.setenv(name, "true")
    assert not _leads_here()


def _leads_here() -> bool:
    """Whether boto3, with the variables there are, would send a request to the emulator, signed with its keys alone."""
    try:
        client = boto3.Session().client("sagemaker-runtime")
        keys = client._request_signer._credentials.get_frozen_credentials()
    except BotoCoreError:
        return False
    return (client.meta.endpoint_url, *keys[:3]) == ("https://127.0.0.1:8443", "AKID", "secret", None)
