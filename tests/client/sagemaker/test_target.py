import time

import pytest

from antiphon.client.errors import TargetError
from antiphon.client.sagemaker.target import SageMakerTarget, check_endpoint_url, check_region


def test_the_shortest_target_has_the_speech_stream_as_its_path() -> None:
    assert SageMakerTarget.parse("sagemaker://qwen3-tts") == SageMakerTarget(
        scheme="sagemaker", endpoint="qwen3-tts", path="v1/audio/speech/stream"
    )


def test_without_a_stream_the_path_is_that_of_one_request() -> None:
    assert SageMakerTarget.parse("sagemaker-invoke://qwen3-tts/").path == "v1/audio/speech"


def test_every_option_is_read() -> None:
    query = "region=eu-west-1&variant=AllTraffic&path=%2Fv1/x&profile=my+sso&endpoint_url=https%3A%2F%2Flocalhost"
    assert SageMakerTarget.parse(f"SageMaker://Qwen3-TTS?{query}") == SageMakerTarget(
        scheme="sagemaker",
        endpoint="Qwen3-TTS",
        path="v1/x",
        region="eu-west-1",
        variant="AllTraffic",
        profile="my sso",
        endpoint_url="https://localhost",
    )


@pytest.mark.parametrize(
    ("target", "lesson"),
    [
        ("sagemaker:", "write sagemaker://ENDPOINT"),
        ("sagemaker://", "write sagemaker://ENDPOINT"),
        ("sagemaker:qwen3-tts", "write sagemaker://ENDPOINT, for example sagemaker://qwen3-tts"),
        ("sagemaker-invoke://", "write sagemaker-invoke://ENDPOINT"),
        ("sagemaker://a_b", "letters, digits and hyphens"),
        ("sagemaker://-a", "letters, digits and hyphens"),
        ("sagemaker://a-", "letters, digits and hyphens"),
        ("sagemaker://a:8443", "letters, digits and hyphens"),
        (f"sagemaker://{'a' * 64}", "up to 63"),
        ("sagemaker://[::1", "not a URL"),
        ("sagemaker://a/v1/audio", "?path="),
        ("sagemaker://a#b", "?path="),
        ("sagemaker://a?regoin=x", "unknown option 'regoin' in the target; there are: region, variant,"),
        ("sagemaker://a?region=", "region needs one value"),
        ("sagemaker://a?region=b&region=c", "region needs one value"),
        ("sagemaker://a?region=x.example%2f", "no AWS region"),
        ("sagemaker://a?region=US-EAST-1", "no AWS region"),
        ("sagemaker://a?variant=a_b", "variant 'a_b' cannot exist"),
        ("sagemaker://a?path=v1/x?y", "cannot be called"),
        ("sagemaker://a?path=v1/", "cannot be called"),
        (f"sagemaker://a?path={'p' * 101}", "up to 100"),
        ("sagemaker://a?endpoint_url=http://localhost", "must be https://HOST[:PORT]"),
        ("sagemaker-invoke://a?endpoint_url=ftp://localhost", "must be https or http://HOST[:PORT]"),
        ("ws://a", "begins with sagemaker://"),
    ],
)
def test_the_error_teaches_what_to_write(target: str, lesson: str) -> None:
    with pytest.raises(TargetError) as caught:
        SageMakerTarget.parse(target)

    assert lesson in str(caught.value)


def test_names_at_their_longest_are_taken() -> None:
    assert SageMakerTarget.parse(f"sagemaker://{'a' * 63}?path={'p' * 100}").path == "p" * 100


@pytest.mark.parametrize(
    "target", ["sagemaker://AKIA:s3cret@a", "sagemaker://a?endpoint_url=https%3A%2F%2Fu:s3cret@localhost"]
)
def test_a_secret_is_refused_and_not_repeated(target: str) -> None:
    with pytest.raises(TargetError) as caught:
        SageMakerTarget.parse(target)

    assert "s3cret" not in str(caught.value)


def test_people_are_shown_the_endpoint_without_the_query() -> None:
    assert str(SageMakerTarget.parse("sagemaker://a?profile=b")) == "sagemaker://a"


@pytest.mark.parametrize(
    "url", ["https://[::1", "https://h:99999", "https://h:0", "https://", "https://h/?a", "h:1", ""]
)
def test_what_is_no_endpoint_url_is_refused(url: str) -> None:
    with pytest.raises(TargetError):
        check_endpoint_url(url)


def test_without_a_stream_the_runtime_may_do_without_tls() -> None:
    assert check_endpoint_url("http://localhost:8080", "sagemaker-invoke") == "http://localhost:8080"


@pytest.mark.parametrize("hostile", ["-" * 5000 + "_", "a-" * 5000 + "_", "a" * 5000 + "_"])
def test_a_hostile_name_is_refused_at_once(hostile: str) -> None:
    began = time.perf_counter()
    for refused in (lambda: check_region(hostile), lambda: SageMakerTarget.parse(f"sagemaker://{hostile}")):
        with pytest.raises(TargetError):
            refused()

    assert time.perf_counter() - began < 1.0
