import ssl
import subprocess
import sys

import pytest

from antiphon.client import connect
from antiphon.client.errors import ConnectError, TargetError
from antiphon.client.sagemaker import opening, sdk
from antiphon.client.sagemaker.opening import open_sagemaker
from antiphon.client.targets import ConnectOptions, open_transport

pytestmark = pytest.mark.anyio


async def test_a_target_is_checked_before_anything_is_loaded() -> None:
    with pytest.raises(TargetError, match="letters, digits and hyphens"):
        await open_transport("sagemaker://a_b", ConnectOptions())


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (ConnectOptions(api_key="s3cret"), "AWS credentials"),
        (ConnectOptions(ssl_context=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)), "pass ca_file"),
    ],
)
async def test_what_cannot_be_carried_is_refused(options: ConnectOptions, said: str) -> None:
    with pytest.raises(TargetError, match=said) as caught:
        await open_sagemaker("sagemaker://voice", options)

    assert "s3cret" not in str(caught.value)


WITHOUT = """
import asyncio, sys
sys.modules[sys.argv[1]] = None
import antiphon
async def speak():
    await antiphon.connect("sagemaker://voice")
try:
    asyncio.run(speak())
except antiphon.ConnectError as error:
    print(error)
"""


@pytest.mark.parametrize("missing", ["aws_sdk_sagemaker_runtime_http2", "awscrt", "botocore"])
def test_without_the_extra_it_says_what_to_install(missing: str) -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT, missing], capture_output=True, text=True, check=True)

    assert "pip install 'antiphon[sagemaker]'" in done.stdout
    assert missing in done.stdout


async def test_a_region_that_is_missing_is_told_through_the_client_too(aws: pytest.MonkeyPatch) -> None:
    aws.delenv("AWS_REGION")
    with pytest.raises(TargetError, match="no AWS region"):
        await connect("sagemaker://voice")


async def test_keys_that_do_not_come_are_waited_for_in_bounded_time(monkeypatch: pytest.MonkeyPatch) -> None:
    async def never(*_: object) -> None:
        raise TimeoutError

    monkeypatch.setattr(opening, "load_account", never)
    with pytest.raises(ConnectError, match=r"credentials did not answer within 10 s") as caught:
        await open_sagemaker("sagemaker://voice", ConnectOptions())

    assert caught.value.retryable


def test_the_version_of_the_sdk_is_known() -> None:
    assert sdk.version().startswith("0.")


def test_an_sdk_of_tomorrow_is_refused_in_words() -> None:
    with pytest.raises(ConnectError, match="neither A nor B"):
        sdk._first(sys, "A", "B")
