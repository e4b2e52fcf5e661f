import asyncio
import sys
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from antiphon.client.errors import ConnectError, SpeechError, TargetError
from antiphon.client.sagemaker import credentials
from antiphon.client.sagemaker.credentials import Account, Keys, in_thread, load_account, read_account
from antiphon.client.sagemaker.target import SageMakerTarget

TARGET = SageMakerTarget.parse("sagemaker://voice")


def account(query: str = "") -> Account:
    return read_account(SageMakerTarget.parse(f"sagemaker://voice{query}"))


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """The configuration file, as `conftest.aws` names it."""
    return tmp_path / "config"


@pytest.fixture(autouse=True)
def nothing_is_remembered() -> Iterator[None]:
    credentials._remembered.clear()
    yield
    credentials._remembered.clear()


def test_the_port_is_8443_unless_one_is_named(aws: pytest.MonkeyPatch) -> None:
    aws.setenv("AWS_REGION", "us-west-2")
    assert account().url == "https://runtime.sagemaker.us-west-2.amazonaws.com:8443"
    assert account("?region=cn-north-1").url == "https://runtime.sagemaker.cn-north-1.amazonaws.com.cn:8443"
    assert account("?endpoint_url=https://localhost").url == "https://localhost:8443"
    assert account("?endpoint_url=https://localhost:443/").url == "https://localhost:443"
    assert account("?endpoint_url=https://[::1]").url == "https://[::1]:8443"


def test_the_target_s_region_is_before_the_environment_s_and_that_before_the_profile_s(
    aws: pytest.MonkeyPatch, config: Path
) -> None:
    config.write_text("[default]\nregion = eu-profile-1\n[profile other]\nregion = eu-other-1\n")
    aws.setenv("AWS_REGION", "eu-west-1")
    aws.setenv("AWS_DEFAULT_REGION", "eu-west-2")
    assert account("?region=eu-west-3").region == "eu-west-3"
    assert account().region == "eu-west-1"
    aws.delenv("AWS_REGION")
    assert account().region == "eu-west-2"
    aws.delenv("AWS_DEFAULT_REGION")
    assert account().region == "eu-profile-1"
    aws.setenv("AWS_PROFILE", "other")
    assert account().region == "eu-other-1"


def test_without_a_region_it_says_how_to_name_one(aws: pytest.MonkeyPatch) -> None:
    aws.delenv("AWS_REGION")
    with pytest.raises(TargetError, match=r"add \?region=us-east-1 to sagemaker://voice, or set AWS_REGION"):
        account()


def test_a_region_leads_to_no_other_host(aws: pytest.MonkeyPatch) -> None:
    aws.setenv("AWS_REGION", "x.example/")
    with pytest.raises(TargetError, match="no AWS region"):
        account()


def test_endpoint_urls_are_looked_for_in_aws_s_order(aws: pytest.MonkeyPatch, config: Path) -> None:
    config.write_text(
        "[default]\nservices = local\nendpoint_url = https://fourth\n"
        "[services local]\nsagemaker_runtime_http2 =\n  endpoint_url = https://third\n"
    )
    aws.setenv("AWS_ENDPOINT_URL_SAGEMAKER_RUNTIME_HTTP2", "https://first")
    aws.setenv("AWS_ENDPOINT_URL", "https://second:1")
    assert account("?endpoint_url=https://zeroth").host == "zeroth"
    assert account().url == "https://first:8443"
    aws.delenv("AWS_ENDPOINT_URL_SAGEMAKER_RUNTIME_HTTP2")
    assert account().url == "https://second:1"
    aws.delenv("AWS_ENDPOINT_URL")
    assert account().host == "third"
    config.write_text("[default]\nendpoint_url = https://fourth\n")
    assert account().host == "fourth"


def test_configured_endpoint_urls_can_be_ignored(aws: pytest.MonkeyPatch) -> None:
    aws.setenv("AWS_ENDPOINT_URL", "https://configured")
    aws.setenv("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "true")
    assert account("?region=us-east-1").host == "runtime.sagemaker.us-east-1.amazonaws.com"
    assert account("?endpoint_url=https://named").host == "named"


def test_an_endpoint_url_that_cannot_work_is_named_by_where_it_is(aws: pytest.MonkeyPatch) -> None:
    aws.setenv("AWS_ENDPOINT_URL", "http://user:s3cret@localhost:4566")
    with pytest.raises(TargetError, match=r"^AWS_ENDPOINT_URL: .*https") as caught:
        account()

    assert "s3cret" not in str(caught.value)


def test_authorities_are_those_passed_or_aws_s_or_openssl_s(aws: pytest.MonkeyPatch) -> None:
    assert account().ca_file is None
    aws.setenv("SSL_CERT_FILE", "openssl.pem")
    assert account().ca_file == "openssl.pem"
    aws.setenv("AWS_CA_BUNDLE", "aws.pem")
    assert account().ca_file == "aws.pem"
    assert read_account(TARGET, "mine.pem").ca_file == "mine.pem"


def test_keys_come_from_the_profile_too(aws: pytest.MonkeyPatch, config: Path) -> None:
    config.write_text('[profile "my sso"]\naws_access_key_id = AKIDPROFILE\naws_secret_access_key = hidden\n')
    assert account("?profile=my+sso").keys == Keys("AKIDPROFILE", "hidden")


def test_keys_are_not_shown() -> None:
    assert "s3cret" not in repr(account())
    assert "AKID" not in repr(account())


def test_without_credentials_it_says_how_to_get_some_at_once(aws: pytest.MonkeyPatch) -> None:
    aws.delenv("AWS_ACCESS_KEY_ID")
    began = time.perf_counter()
    with pytest.raises(ConnectError, match="aws sso login") as caught:
        account()

    assert time.perf_counter() - began < 2
    assert not caught.value.retryable


def test_an_unknown_profile_is_named() -> None:
    with pytest.raises(TargetError, match="no AWS profile 'nobody'"):
        account("?profile=nobody")


def test_a_program_that_gives_no_keys_is_not_repeated(aws: pytest.MonkeyPatch, config: Path) -> None:
    aws.delenv("AWS_ACCESS_KEY_ID")
    config.write_text(f"[default]\ncredential_process = {sys.executable} -c \"import sys; sys.exit('s3cret')\"\n")
    with pytest.raises(ConnectError, match="custom-process") as caught:
        account()

    assert "s3cret" not in str(caught.value)


def test_keys_that_refresh_themselves_are_asked_for_once(aws: pytest.MonkeyPatch, config: Path, tmp_path: Path) -> None:
    aws.delenv("AWS_ACCESS_KEY_ID")
    calls = tmp_path / "calls"
    expires = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    program = tmp_path / "program.py"
    program.write_text(
        f"""import json
with open({str(calls)!r}, "a") as log: log.write("x")
print(json.dumps({{"Version": 1, "AccessKeyId": "AKIDPROGRAM", "SecretAccessKey": "x", "Expiration": {expires!r}}}))
"""
    )
    config.write_text(f"[default]\ncredential_process = {sys.executable} {program}\n")
    assert [account().keys.access_key_id for _ in range(3)] == ["AKIDPROGRAM"] * 3
    assert calls.read_text() == "x"
    aws.setenv("AWS_ACCESS_KEY_ID", "AKIDNOW")
    assert account().keys.access_key_id == "AKIDNOW"


def test_few_credentials_are_remembered(aws: pytest.MonkeyPatch) -> None:
    class Refreshing:
        refresh_needed = None

    class Session:
        def get_credentials(self) -> Refreshing:
            return Refreshing()

    for number in range(100):
        aws.setenv("AWS_PROFILE", str(number))
        credentials._credentials(TARGET, Session())

    assert len(credentials._remembered) <= credentials._MAX_REMEMBERED


@pytest.fixture
def slow_program(aws: pytest.MonkeyPatch, config: Path) -> None:
    aws.delenv("AWS_ACCESS_KEY_ID")
    config.write_text(f'[default]\ncredential_process = {sys.executable} -c "import time; time.sleep(3)"\n')


@pytest.mark.anyio
@pytest.mark.usefixtures("slow_program")
async def test_what_takes_for_ever_can_be_left() -> None:
    began = time.perf_counter()
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(load_account(TARGET), 0.2)

    assert time.perf_counter() - began < 2
    threads = [thread for thread in threading.enumerate() if thread.name.startswith("antiphon")]
    assert all(thread.daemon for thread in threads)


@pytest.mark.anyio
async def test_the_thread_s_errors_are_raised() -> None:
    def fail() -> None:
        raise SpeechError("no")

    with pytest.raises(SpeechError, match="no"):
        await in_thread(fail)


def test_a_thread_may_outlive_its_loop() -> None:
    held, done = threading.Event(), threading.Event()

    def work() -> None:
        held.wait(5)
        done.set()

    async def leave() -> None:
        task = asyncio.ensure_future(in_thread(work))
        await asyncio.sleep(0)
        task.cancel()

    asyncio.run(leave())
    held.set()
    assert done.wait(5)
