"""boto3 itself, and the AWS CLI itself, against the runtime: signatures verified, over TLS."""

import asyncio
import gc
import os
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import boto3
import botocore.exceptions
import pytest
from botocore.config import Config
from tests.emulator.runtime.driving import TIMINGS, Backend, Certificate, Log, Registry
from tests.emulator.runtime.http_container import CHUNKED, HttpContainer, chunk, http_container, response

from antiphon.emulator.runtime.server import Runtime
from antiphon.emulator.runtime.timings import Timings
from antiphon.emulator.wire.sigv4 import SigningKeys

pytestmark = pytest.mark.anyio

KEYS = SigningKeys({"AKIDEXAMPLE": "secret"}, "us-east-1")
AWS = Path(sys.executable).parent / "aws"


@dataclass(frozen=True, slots=True)
class Rig:
    url: str
    authority: Path
    container: HttpContainer

    @contextmanager
    def client(self, **credentials: str) -> Iterator[Any]:
        client = boto3.client(
            "sagemaker-runtime",
            endpoint_url=self.url,
            region_name=credentials.get("region", "us-east-1"),
            verify=str(self.authority),
            aws_access_key_id=credentials.get("key", "AKIDEXAMPLE"),
            aws_secret_access_key=credentials.get("secret", "secret"),
            aws_session_token=credentials.get("token"),
            config=Config(retries={"total_max_attempts": 1}, proxies={}),
        )
        try:
            yield client
        finally:
            client.close()

    async def call(self, work: Callable[[Any], Any], **credentials: str) -> Any:
        """Use a client of boto3 in a thread."""

        def run() -> Any:
            with self.client(**credentials) as client:
                return work(client)

        try:
            return await asyncio.to_thread(run)
        finally:
            # urllib3 closes a connection once nobody holds its pool; exceptions do, in cycles.
            gc.collect()


@asynccontextmanager
async def rig(certificate: Certificate, timings: Timings = TIMINGS) -> AsyncIterator[Rig]:
    async with http_container() as container:
        backends = {
            "ep": Backend(container.url),
            "cold": Backend(container.url, in_service=False),
        }
        runtime = Runtime(Registry(backends), KEYS, timings, Log(), certificate.context())
        async with runtime.listening("127.0.0.1", 0) as port:
            yield Rig(f"https://127.0.0.1:{port}", certificate.authority, container)


def whole(client: Any) -> tuple[dict[str, Any], bytes]:
    """Invoke with every member that an endpoint with one container takes."""
    answer = client.invoke_endpoint(
        EndpointName="ep",
        Body=b'{"input": "Hello"}',
        ContentType="application/json",
        Accept="audio/wav",
        CustomAttributes="route=/v1/audio/speech,  two  spaces",
        TargetModel="a b.tar.gz",
        TargetVariant="Canary",
        InferenceId="id 1",
        SessionId="NEW_SESSION",
    )
    body = answer.pop("Body").read()
    return answer, body


def streamed(client: Any) -> list[bytes]:
    answer = client.invoke_endpoint_with_response_stream(
        EndpointName="ep", Body=b"{}", ContentType="application/json", Accept="audio/pcm", CustomAttributes="a=b"
    )
    assert answer["ContentType"] == "audio/pcm"
    assert answer["InvokedProductionVariant"] == "AllTraffic"
    with closing(answer["Body"]) as events:
        return [event["PayloadPart"]["Bytes"] for event in events]


@pytest.mark.parametrize("token", [None, "session//token=="])
async def test_invoke_endpoint(certificate: Certificate, token: str | None) -> None:
    async with rig(certificate) as r:
        given = {"x_amzn_sagemaker_custom_attributes": "took=3", "content_type": "audio/wav"}
        session = {"x_amzn_sagemaker_new_session_id": "s1; Expires=2026-11-30T00:00:00Z"}
        r.container.answers(response(200, b"RIFF", **given, **session))
        answer, body = await r.call(whole, **({} if token is None else {"token": token}))
        (asked,) = r.container.asked
    assert body == b"RIFF"
    assert answer["ContentType"] == "audio/wav"
    assert answer["InvokedProductionVariant"] == "Canary"
    assert answer["CustomAttributes"] == "took=3"
    assert answer["NewSessionId"].startswith("s1;")
    assert len(answer["ResponseMetadata"]["RequestId"]) == 36
    assert (asked.target, asked.body) == ("/invocations", b'{"input": "Hello"}')
    assert asked.headers["accept"] == "audio/wav"
    assert asked.headers["x-amzn-sagemaker-custom-attributes"] == "route=/v1/audio/speech,  two  spaces"
    assert asked.headers["x-amzn-sagemaker-target-model"] == "a b.tar.gz"
    assert "authorization" not in asked.headers


async def test_the_response_stream(certificate: Certificate) -> None:
    async with rig(certificate) as r:
        r.container.answers(CHUNKED + b"".join(chunk(bytes([n]) * 1000) for n in range(5)) + chunk(b""))
        assert b"".join(await r.call(streamed)) == b"".join(bytes([n]) * 1000 for n in range(5))
        assert r.container.asked[0].headers["accept"] == "audio/pcm"


async def test_a_large_body_and_a_large_answer(certificate: Certificate) -> None:
    body = os.urandom(5 * 2**20)
    async with rig(certificate) as r:
        r.container.answers(response(200, body))
        got = await r.call(lambda client: client.invoke_endpoint(EndpointName="ep", Body=body)["Body"].read())
        assert got == body
        assert r.container.asked[0].body == body


async def refused(rig: Rig, work: Callable[[Any], Any], name: str, **credentials: str) -> dict[str, Any]:
    """Check that boto3 raises the exception of that name, and give what it says."""

    def run(client: Any) -> dict[str, Any]:
        kind = getattr(client.exceptions, name, botocore.exceptions.ClientError)
        with pytest.raises(kind) as caught:
            work(client)
        response: dict[str, Any] = caught.value.response
        assert response["Error"]["Code"] == name
        return response

    answer: dict[str, Any] = await rig.call(run, **credentials)
    return answer


@pytest.mark.parametrize("work", [whole, streamed])
async def test_a_container_that_refuses(certificate: Certificate, work: Callable[[Any], Any]) -> None:
    async with rig(certificate) as r:
        r.container.answers(response(503, b"no engine"))
        said = await refused(r, work, "ModelError")
    assert (said["OriginalStatusCode"], said["OriginalMessage"]) == (503, "no engine")
    assert said["ResponseMetadata"]["HTTPStatusCode"] == 424
    assert said["LogStreamArn"].startswith("arn:aws:logs:")
    assert "no engine" in said["Error"]["Message"]


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"EndpointName": "nobody"}, "nobody not found"),
        ({"EndpointName": "cold"}, "not in service"),
        ({"EndpointName": "ep", "TargetVariant": "Other"}, "no variant Other"),
        ({"EndpointName": "a b"}, "endpoint_name"),
        ({"EndpointName": "ep", "InferenceComponentName": "ic"}, "inference components"),
        ({"EndpointName": "ep", "SessionId": "a_b"}, "session_id"),
    ],
)
async def test_what_cannot_be(certificate: Certificate, arguments: dict[str, str], match: str) -> None:
    async with rig(certificate) as r:
        said = await refused(r, lambda client: client.invoke_endpoint(Body=b"{}", **arguments), "ValidationError")
        assert match in said["Error"]["Message"]
        assert said["ResponseMetadata"]["HTTPStatusCode"] == 400


@pytest.mark.parametrize(
    ("credentials", "name"),
    [
        ({"secret": "another"}, "InvalidSignatureException"),
        ({"region": "eu-west-1"}, "InvalidSignatureException"),
        ({"key": "NOBODY"}, "UnrecognizedClientException"),
    ],
)
async def test_who_may_not(certificate: Certificate, credentials: dict[str, str], name: str) -> None:
    async with rig(certificate) as r:
        said = await refused(r, whole, name, **credentials)
        assert said["ResponseMetadata"]["HTTPStatusCode"] == 403
        assert r.container.asked == []


async def test_an_asynchronous_invocation_is_no_operation_here(certificate: Certificate) -> None:
    async with rig(certificate) as r:
        said = await refused(
            r,
            lambda client: client.invoke_endpoint_async(EndpointName="ep", InputLocation="s3://a/b"),
            "UnknownOperationException",
        )
        assert "InvokeEndpointAsync" in said["Error"]["Message"]


async def test_a_stream_that_breaks_off(certificate: Certificate) -> None:
    def broken(client: Any) -> tuple[str, str]:
        with pytest.raises(botocore.exceptions.EventStreamError) as caught:
            streamed(client)
        error = caught.value.response["Error"]
        return error["Code"], error["Message"]

    async with rig(certificate) as r:
        r.container.answers(CHUNKED + chunk(b"one"))
        code, message = await r.call(broken)
    assert code == "ModelStreamError"
    assert "broke off" in message


async def test_a_container_that_takes_too_long(certificate: Certificate) -> None:
    def late(client: Any) -> str:
        with pytest.raises(client.exceptions.ModelError) as caught:
            whole(client)
        message: str = caught.value.response["Error"]["Message"]
        return message

    async with rig(certificate, replace(TIMINGS, invoke_timeout_s=0.1)) as r:
        r.container.script = r.container.waits
        assert "timed out" in await r.call(late)


@pytest.mark.skipif(not AWS.exists(), reason="needs the AWS CLI in this environment")
@pytest.mark.parametrize("size", [10, 2 * 2**20])
async def test_the_aws_cli(certificate: Certificate, tmp_path: Path, size: int) -> None:
    body = tmp_path / "body"
    body.write_bytes(bytes(size))
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_CA_BUNDLE": str(certificate.authority),
    }
    async with rig(certificate) as r:
        r.container.answers(response(200, b"RIFF", content_type="audio/wav"))
        arguments = ["sagemaker-runtime", "invoke-endpoint", "--endpoint-url", r.url, "--endpoint-name", "ep"]
        process = await asyncio.create_subprocess_exec(
            AWS, *arguments, "--body", f"fileb://{body}", "out", cwd=tmp_path, env=environment
        )
        assert await asyncio.wait_for(process.wait(), 60) == 0
        assert len(r.container.asked[0].body) == size
    assert (tmp_path / "out").read_bytes() == b"RIFF"
