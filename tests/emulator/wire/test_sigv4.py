import datetime as dt
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Self

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.emulator.wire.signing import KEYS, Events, Signed, by_botocore, by_sdk, seconds

from antiphon.emulator.wire.eventstream import Message, Timestamp, decode
from antiphon.emulator.wire.sigv4 import EventChain, SignatureError, SigningKeys

pytestmark = pytest.mark.anyio

EMPTY = b""


def refused(signed: Signed, name: str, match: str, keys: SigningKeys = KEYS, now: float | None = None) -> None:
    with pytest.raises(SignatureError, match=match) as caught:
        signed.verify(keys, now)
    assert (caught.value.name, caught.value.status) == (name, 403)


@pytest.mark.parametrize("body", [b"", b"\x00\xff", b'{"input": "Hello"}'])
def test_what_boto3_signs_is_verified(body: bytes) -> None:
    verified = by_botocore(body=body).verify()
    assert verified.access_key_id == "AKIDEXAMPLE"
    assert len(verified.signature) == 64


@pytest.mark.parametrize(
    "url",
    [
        "https://localhost:8443/endpoints/a%20b/invocations",
        "https://localhost:8443/endpoints/%E3%81%93%2Fx/invocations",
        "https://localhost:8443/endpoints/a~b!$&'()*+,;=:@/invocations",
        "https://localhost:8443//endpoints/./a/../b//invocations/",
        "https://localhost:8443",
        "https://localhost:8443/endpoints/a/invocations?b=2&a=1&a=0&empty=&slash=%2F&space=%20",
        "https://localhost:8443/endpoints/a/invocations?",
        "https://localhost:8443/endpoints/a/invocations?flag",
        "https://localhost/endpoints/a/invocations",
    ],
)
def test_paths_and_queries_of_every_kind_are_verified(url: str) -> None:
    assert by_botocore(url).verify().signature


@pytest.mark.parametrize("value", ["  a   b  ", "a,b , c", "route=/v1/audio/speech", "\ttab\t between ", '"x  y"'])
def test_header_values_are_compared_without_their_spaces(value: str) -> None:
    name = "x-amzn-sagemaker-custom-attributes"
    signed = by_botocore(headers={name: value})
    assert signed.verify().signature
    assert signed.with_header(name, " ".join(value.split())).verify().signature


def test_a_header_in_two_lines_is_one_with_a_comma() -> None:
    signed = by_botocore(headers={"x-amzn-sagemaker-custom-attributes": "a,b"})
    others = signed.with_header("x-amzn-sagemaker-custom-attributes", None).headers
    twice = (("X-Amzn-SageMaker-Custom-Attributes", "a"), ("X-Amzn-SageMaker-Custom-Attributes", " b "))
    assert replace(signed, headers=(*others, *twice)).verify().signature


@settings(max_examples=50)
@given(
    st.text(st.characters(codec="ascii", exclude_characters="?#%", categories=["L", "N", "P"]), max_size=20),
    st.lists(st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1, max_size=5), max_size=4),
)
def test_any_path_and_query_that_boto3_signs_is_verified(name: str, words: list[str]) -> None:
    query = "&".join(f"{word}={word[::-1]}" for word in words)
    assert by_botocore(f"https://localhost:8443/endpoints/{name}/invocations?{query}").verify().signature


@pytest.mark.parametrize("token", [None, "FwoGZXIvYXdzE//token+=="])
async def test_what_the_sdk_signs_is_verified(token: str | None) -> None:
    extra = [("x-amzn-sagemaker-model-query-string", "a=%20b&c=d"), ("x-amzn-sagemaker-target-variant", "AllTraffic")]
    signed = await by_sdk(headers=extra, token=token)
    assert signed.verify().access_key_id == "AKIDEXAMPLE"


async def test_a_query_that_the_sdk_signs_is_verified() -> None:
    assert (await by_sdk(path="/endpoints/a b/x", query="b=%2F&a=1&a=")).verify().signature


def test_a_session_token_must_be_signed() -> None:
    assert by_botocore(token="session").verify().signature  # noqa: S106 - a fake
    signed = by_botocore().with_header("x-amz-security-token", "smuggled")
    refused(signed, "InvalidSignatureException", "not signed: x-amz-security-token")


def test_an_unsigned_payload_is_taken_for_what_it_is() -> None:
    signed = by_botocore(unsigned_payload=True)
    assert signed.verify().signature
    assert replace(signed, body=b"another").verify().signature


@pytest.mark.parametrize(
    "changed",
    [
        lambda signed: replace(signed, body=b"another"),
        lambda signed: replace(signed, method="PUT"),
        lambda signed: replace(signed, path=signed.path + "x"),
        lambda signed: replace(signed, query="a=1"),
        lambda signed: signed.with_header("host", "elsewhere:8443"),
        lambda signed: signed.with_header("content-type", "text/plain"),
        lambda signed: signed.with_header("content-type", None),
        lambda signed: signed.with_header(
            "authorization", dict(signed.headers)["authorization"].replace("AKIDEXAMPLE", "OTHER")
        ),
        lambda signed: signed.with_header("authorization", dict(signed.headers)["authorization"][:-1]),
        lambda signed: signed.with_header("authorization", dict(signed.headers)["authorization"][:-64] + "é" * 64),
    ],
)
def test_what_was_changed_after_signing_is_refused(changed: Callable[[Signed], Signed]) -> None:
    signed = by_botocore(headers={"content-type": "application/json"})
    refused(changed(signed), "InvalidSignatureException", "does not match")


def test_a_declared_hash_must_be_the_bodys() -> None:
    declared = by_botocore(headers={"x-amz-content-sha256": "0" * 64})
    refused(declared, "InvalidSignatureException", "does not match")


async def test_events_that_are_not_to_be_signed_are_refused() -> None:
    signed = replace(by_botocore(unsigned_payload=True), body=None)
    refused(signed, "InvalidSignatureException", "STREAMING-AWS4-HMAC-SHA256-EVENTS")
    refused(replace(by_botocore(), body=None), "InvalidSignatureException", "STREAMING-AWS4-HMAC-SHA256-EVENTS")


def test_keys_are_for_one_region_and_one_service_and_known() -> None:
    signed = by_botocore()
    refused(signed, "InvalidSignatureException", "region: 'eu-west-1'", replace(KEYS, region="eu-west-1"))
    refused(signed, "InvalidSignatureException", "service: 's3'", replace(KEYS, service="s3"))
    unknown = replace(KEYS, secrets={"SOMEONE": "else"})
    refused(signed, "UnrecognizedClientException", "security token", unknown)
    wrong = replace(KEYS, secrets={"AKIDEXAMPLE": "another"})
    refused(signed, "InvalidSignatureException", "does not match", wrong)


def test_secrets_are_not_shown() -> None:
    assert KEYS.secrets["AKIDEXAMPLE"] not in repr(KEYS)
    assert KEYS.secrets["AKIDEXAMPLE"] not in repr(by_botocore().verify())


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (("AWS4-HMAC-SHA256", "AWS4-HMAC-SHA1"), "algorithm"),
        (("Signature=", "Sig="), "'Signature'"),
        (("SignedHeaders=", "Headers="), "'SignedHeaders'"),
        (("Credential=", "C="), "'Credential'"),
        (("/aws4_request", ""), "Credential must be"),
        ((", ", " "), "requires"),
    ],
)
def test_half_an_authorization_is_incomplete(change: tuple[str, str], match: str) -> None:
    signed = by_botocore()
    header = dict(signed.headers)["authorization"].replace(*change)
    refused(signed.with_header("authorization", header), "IncompleteSignatureException", match)


@pytest.mark.parametrize("change", [("host;", ""), ("/aws4_request", "/aws4"), ("20", "19")])
def test_a_scope_that_is_not_the_requests_is_refused(change: tuple[str, str]) -> None:
    signed = by_botocore()
    header = dict(signed.headers)["authorization"].replace(*change, 1)
    refused(signed.with_header("authorization", header), "InvalidSignatureException", "Host|terminator|date")


@pytest.mark.parametrize("header", [None, ""])
def test_no_authorization_is_no_authentication(header: str | None) -> None:
    refused(by_botocore().with_header("authorization", header), "MissingAuthenticationTokenException", "Missing")


@pytest.mark.parametrize("date", [None, "", "yesterday", "2026-11-30T20:35:39Z", "20261330T203539Z"])
def test_a_request_without_a_date_is_incomplete(date: str | None) -> None:
    signed = by_botocore()
    now = signed.date
    refused(signed.with_header("x-amz-date", date), "IncompleteSignatureException", "Date", now=now)


def test_dates_may_be_a_quarter_of_an_hour_off() -> None:
    signed = by_botocore()
    for offset in (-900, 900):
        assert signed.verify(now=signed.date + offset).signature
    refused(signed, "InvalidSignatureException", "expired", now=signed.date + 901)
    refused(signed, "InvalidSignatureException", "not yet current", now=signed.date - 901)
    assert signed.verify(replace(KEYS, max_skew_s=5000), now=signed.date + 901).signature


@given(st.text(), st.text(), st.text(), st.dictionaries(st.text(), st.text(), max_size=3))
def test_anything_else_is_refused_and_nothing_more(path: str, query: str, header: str, headers: dict[str, str]) -> None:
    signed = by_botocore()
    now = signed.date
    others = (*signed.with_header("authorization", "AWS4-HMAC-SHA256 " + header).headers, *headers.items())
    with pytest.raises(SignatureError):
        replace(signed, path=path, query=query, headers=others).verify(now=now)


# Events


async def chain_and_events() -> tuple[EventChain, Events]:
    verified = (await by_sdk()).verify()
    return EventChain(verified, time.time), Events(verified.signature)


async def test_the_sdks_events_are_verified_in_their_order() -> None:
    chain, events = await chain_and_events()
    for number in range(50):
        inner = chain.unwrap(await events.sign(b"%d" % number))
        assert decode(inner).payload == b"%d" % number
    assert chain.unwrap(await events.end()) == EMPTY


def broken(chain: EventChain, event: Message, match: str = "does not match") -> None:
    with pytest.raises(SignatureError, match=match) as caught:
        chain.unwrap(event)
    assert caught.value.name == "InvalidSignatureException"


async def test_events_that_are_repeated_dropped_or_exchanged_are_refused() -> None:
    chain, events = await chain_and_events()
    first, second, third = [await events.sign(word) for word in (b"a", b"b", b"c")]
    broken(chain, second)
    chain.unwrap(first)
    broken(chain, first)
    broken(chain, third)
    chain.unwrap(second)
    chain.unwrap(third)


async def test_events_that_were_changed_are_refused() -> None:
    chain, events = await chain_and_events()
    event = await events.sign(b"a")
    date, signature = event.headers[":date"], event.headers[":chunk-signature"]
    assert isinstance(date, Timestamp)
    assert isinstance(signature, bytes)
    broken(chain, replace(event, payload=event.payload + b"\x00"))
    broken(chain, replace(event, headers={**event.headers, ":date": Timestamp(date.ms + 1)}))
    broken(chain, replace(event, headers={**event.headers, ":chunk-signature": signature[:-1]}))
    broken(chain, replace(event, headers={**event.headers, ":chunk-signature": bytes(32)}))
    broken(chain, replace(event, headers={**event.headers, "more": "x"}), "signed")
    broken(chain, replace(event, headers={":date": date}), "signed")
    broken(chain, replace(event, headers={**event.headers, ":date": "today"}), "signed")
    broken(chain, replace(event, headers={**event.headers, ":chunk-signature": "text"}), "signed")
    broken(chain, Message({}, b""), "signed")
    chain.unwrap(event)


async def test_events_of_another_request_or_key_are_refused() -> None:
    chain, _ = await chain_and_events()
    broken(chain, await Events("0" * 64).sign(b"a"))
    verified = (await by_sdk()).verify()
    other = replace(verified, keys=replace(KEYS, secrets={"AKIDEXAMPLE": "another"}))
    broken(EventChain(other, time.time), await Events(verified.signature).sign(b"a"))


async def test_nothing_follows_the_end() -> None:
    chain, events = await chain_and_events()
    end = await events.end()
    assert chain.unwrap(end) == EMPTY
    broken(chain, end, "follows")


@pytest.mark.parametrize("offset", [-901, 901, 10**9, -(10**15), 10**15])
async def test_events_are_of_now(offset: int) -> None:
    verified = (await by_sdk()).verify()
    now = time.time()
    event = await Events(verified.signature).sign(b"a")
    broken(EventChain(verified, lambda: now + offset), event, "too far from now")
    extreme = replace(event, headers={**event.headers, ":date": Timestamp(2**63 - 1)})
    broken(EventChain(verified, lambda: now), extreme, "too far from now")


async def test_a_stream_that_lasts_past_midnight_goes_on_with_the_next_days_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    moments = [seconds("20261130T235959Z") + 0.9, seconds("20261201T000000Z"), seconds("20261201T000001Z")]

    class Clock(dt.datetime):
        @classmethod
        def now(cls, tz: dt.tzinfo | None = None) -> Self:
            return cls.fromtimestamp(moments[0], tz)

    verified = (await by_sdk(date="20261130T235958Z")).verify()
    events = Events(verified.signature)
    chain = EventChain(verified, lambda: moments[0])
    monkeypatch.setattr(dt, "datetime", Clock)
    while moments:
        assert decode(chain.unwrap(await events.sign(b"late"))).payload == b"late"
        moments.pop(0)
