import gzip
import json
from contextlib import suppress
from dataclasses import astuple
from importlib.resources import files
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.emulator.wire.errors import AwsError
from antiphon.emulator.wire.requests import Bidirectional, Invoke, ResponseStream, parse

BIDI = "/endpoints/qwen3-tts/invocations-bidirectional-stream"
INVOKE = "/endpoints/qwen3-tts/invocations"
STREAM = "/endpoints/qwen3-tts/invocations-response-stream"
PREFIX = "x-amzn-sagemaker-"


def refused(target: str, headers: dict[str, str], match: str | None = None, method: str = "POST") -> AwsError:
    with pytest.raises(AwsError, match=match) as caught:
        parse(method, target, headers.items())
    return caught.value


@pytest.mark.parametrize("target", [BIDI, BIDI + "?"])
def test_a_bidirectional_stream_is_told_by_its_path(target: str) -> None:
    call = parse("POST", target, [("content-type", "application/vnd.amazon.eventstream")])
    assert call == Bidirectional("qwen3-tts", None, None, None)
    assert call.container_path == "/invocations-bidirectional-stream"


def test_a_bidirectional_stream_names_its_variant_path_and_query() -> None:
    headers = [
        ("X-Amzn-SageMaker-Target-Variant", "Canary"),
        ("X-Amzn-SageMaker-Model-Invocation-Path", "v1/audio/speech/stream"),
        ("X-Amzn-SageMaker-Model-Query-String", "voice=a%20b&x=1"),
    ]
    call = parse("POST", BIDI, headers)
    assert call == Bidirectional("qwen3-tts", "Canary", "v1/audio/speech/stream", "voice=a%20b&x=1")
    assert call.container_path == "/v1/audio/speech/stream?voice=a%20b&x=1"


@pytest.mark.parametrize(
    ("header", "value"),
    [
        ("model-invocation-path", "/v1"),
        ("model-invocation-path", "v1/"),
        ("model-invocation-path", "v1//x"),
        ("model-invocation-path", "v1?x=1"),
        ("model-invocation-path", "v1/%20"),
        ("model-invocation-path", ""),
        ("model-invocation-path", "v" * 101),
        ("model-invocation-path", "v1\n"),
        ("model-query-string", "a"),
        ("model-query-string", "a="),
        ("model-query-string", "_a=1"),
        ("model-query-string", "a=b c"),
        ("model-query-string", "a=%2"),
        ("model-query-string", "a=1&"),
        ("model-query-string", "?a=1"),
        ("model-query-string", "a=" + "1" * 2047),
        ("target-variant", "-x"),
        ("target-variant", "x-"),
        ("target-variant", "x" * 64),
    ],
)
def test_members_that_the_model_forbids_are_refused(header: str, value: str) -> None:
    error = refused(BIDI, {PREFIX + header: value}, header.replace("model-", "").replace("-", "_"))
    assert (error.name, error.status, error.extra["ErrorCode"]) == ("InputValidationError", 400, "InputValidationError")


@pytest.mark.parametrize(
    ("header", "value"),
    [
        ("model-invocation-path", "v" * 100),
        ("model-invocation-path", ".-_/a/b.c"),
        ("model-query-string", "a=" + "1" * 2046),
        ("model-query-string", "a-b_c=~.-_%fF&d=1"),
        ("target-variant", "x" * 63),
        ("target-variant", "a--b"),
    ],
)
def test_members_up_to_their_bounds_pass(header: str, value: str) -> None:
    assert value in repr(parse("POST", BIDI, [(PREFIX + header, value)]))


def test_an_invocation_has_its_members_and_the_container_gets_them() -> None:
    headers = {
        "content-type": "application/json",
        "accept": "audio/wav",
        PREFIX + "custom-attributes": "route=/v1/audio/speech",
        PREFIX + "inference-id": "id 1",
        PREFIX + "session-id": "NEW_SESSION",
        PREFIX + "target-model": "a.tar.gz",
    }
    call = parse("POST", INVOKE, {**headers, PREFIX + "target-variant": "Canary", "x-other": "stripped"}.items())
    assert isinstance(call, Invoke)
    assert not isinstance(call, ResponseStream)
    assert (call.operation, call.endpoint, call.target_variant) == ("InvokeEndpoint", "qwen3-tts", "Canary")
    assert call.container_headers() == headers
    assert "route=" not in repr(call)


def test_a_response_stream_accepts_by_a_header_of_its_own() -> None:
    call = parse("POST", STREAM, [("accept", "*/*"), (PREFIX + "accept", "audio/pcm")])
    assert isinstance(call, ResponseStream)
    assert call.operation == "InvokeEndpointWithResponseStream"
    assert call.container_headers() == {"accept": "audio/pcm"}


@pytest.mark.parametrize("target", [INVOKE, STREAM])
@pytest.mark.parametrize(
    ("header", "value"),
    [
        (PREFIX + "custom-attributes", "a" * 1025),
        (PREFIX + "custom-attributes", "é"),
        (PREFIX + "inference-id", ""),
        (PREFIX + "inference-id", " x"),
        (PREFIX + "inference-id", "x" * 65),
        (PREFIX + "session-id", "a_b"),
        (PREFIX + "inference-component", "ic"),
        (PREFIX + "target-container-hostname", "one"),
        ("content-type", "a" * 1025),
    ],
)
def test_members_of_invocations_are_checked_too(target: str, header: str, value: str) -> None:
    error = refused(target, {header: value})
    assert (error.name, error.status, error.extra) == ("ValidationError", 400, {})


@pytest.mark.parametrize("name", ["", "-a", "a_b", "a" * 64, "a%20b", "."])
def test_endpoints_are_named_as_the_model_says(name: str) -> None:
    assert refused(f"/endpoints/{name}/invocations", {}, "endpoint_name").name == "ValidationError"
    assert parse("POST", f"/endpoints/{'a' * 63}/invocations", []).endpoint == "a" * 63


@pytest.mark.parametrize(
    ("method", "target"),
    [
        ("GET", INVOKE),
        ("PUT", BIDI),
        ("POST", "/"),
        ("POST", "/ping"),
        ("POST", INVOKE + "/"),
        ("POST", "/x" + INVOKE),
        ("POST", "/endpoints/a/b/invocations"),
        ("POST", "*"),
        ("POST", ""),
        ("POST", "/endpoints/a/elsewhere"),
    ],
)
def test_what_is_no_operation_is_unknown(method: str, target: str) -> None:
    error = refused(target, {}, "no such operation", method)
    assert (error.name, error.status) == ("UnknownOperationException", 404)


def test_an_asynchronous_invocation_is_told_that_it_is_not_there() -> None:
    error = refused("/endpoints/a/async-invocations", {}, "InvokeEndpointAsync is not emulated")
    assert error.name == "UnknownOperationException"


@given(st.text(), st.text(), st.dictionaries(st.sampled_from([PREFIX + "session-id", "accept", "x"]), st.text()))
def test_anything_is_parsed_or_refused(method: str, target: str, headers: dict[str, str]) -> None:
    for path in (target, f"/endpoints/{target}/invocations"):
        with suppress(AwsError):
            assert parse(method, path, headers.items()).operation == "InvokeEndpoint"


Model = dict[str, Any]


def model() -> Model:
    packed = files("botocore").joinpath("data/sagemaker-runtime/2017-05-13/service-2.json.gz").read_bytes()
    unpacked: Model = json.loads(gzip.decompress(packed))
    return unpacked


# Hints that change nothing where one container answers.
IGNORED = {PREFIX + "enable-explanations", PREFIX + "prefix-aware-id"}


@pytest.mark.parametrize(
    ("operation", "target"), [("InvokeEndpoint", INVOKE), ("InvokeEndpointWithResponseStream", STREAM)]
)
def test_every_header_of_botocores_model_is_known_and_bounded_alike(operation: str, target: str) -> None:
    known = model()
    assert known["operations"][operation]["http"]["requestUri"].format(EndpointName="qwen3-tts") == target
    members = known["shapes"][f"{operation}Input"]["members"].values()
    headers = {
        member["locationName"].lower(): known["shapes"][member["shape"]]
        for member in members
        if member.get("location") == "header"
    }
    assert len(headers) >= 9
    for name in headers.keys() - IGNORED:
        longest = headers[name]["max"]
        assert refused(target, {name: "a" * (longest + 1)}).name == "ValidationError"
        if not name.endswith(("hostname", "component")):
            call = parse("POST", target, [(name, "a" * longest)])
            assert "a" * longest in astuple(call)
