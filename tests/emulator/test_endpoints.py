"""Endpoints: what may be written, and what is started for them."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from antiphon.emulator.endpoints import Backend, EndpointSpec, Registry, parse_endpoint
from antiphon.emulator.run import RunningEndpoint
from antiphon.emulator.state import EmulatorError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("qwen3-tts", ("qwen3-tts", None)),
        ("qwen3-tts=ws://127.0.0.1:8080", ("qwen3-tts", "http://127.0.0.1:8080")),
        ("a=http://localhost:1/", ("a", "http://localhost:1")),
        (" a = ws://[::1]:8080 ", ("a", "http://[::1]:8080")),
        ("a=ws://server", ("a", "http://server:80")),
        ("a" * 63, ("a" * 63, None)),
    ],
)
def test_what_names_an_endpoint(text: str, expected: tuple[str, str | None]) -> None:
    assert parse_endpoint(text) == expected


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no endpoint name"),
        ("-a", "no hyphen at either end"),
        ("a-", "no hyphen at either end"),
        ("a_b", "letters, digits and hyphens"),
        ("a" * 64, "1 to 63"),
        ("a" + "-" * 62 + "b", "1 to 63"),
        ("a\n", "no endpoint name|^$"),
        ("ws://127.0.0.1:8080", r"write NAME or NAME=ws://HOST:PORT"),
        ("a=", r"write ws://HOST:PORT"),
        ("a=127.0.0.1:8080", r"write ws://HOST:PORT"),
        ("a=ftp://127.0.0.1", r"write ws://HOST:PORT"),
        ("a=wss://127.0.0.1:8080", "without TLS"),
        ("a=ws://127.0.0.1:many", r"write ws://HOST:PORT"),
        ("a=ws://127.0.0.1:99999", r"write ws://HOST:PORT"),
        ("a=ws://127.0.0.1:80/v1", "the path comes with each request"),
        ("a=ws://user@127.0.0.1:80", "more than a host and a port"),
        ("a=ws://[::1", r"write ws://HOST:PORT"),
    ],
)
def test_what_does_not_is_explained(text: str, said: str) -> None:
    if text.strip() != text:
        assert parse_endpoint(text) == (text.strip(), None)
        return
    with pytest.raises(EmulatorError, match=said):
        parse_endpoint(text)


def never(name: str, status: int) -> None:
    pytest.fail(f"{name} has not ended, with {status}")


@pytest.mark.anyio
async def test_a_server_is_started_for_an_endpoint_that_names_none() -> None:
    log: list[str] = []

    @asynccontextmanager
    async def launch(spec: EndpointSpec, _ended: Callable[[int], None]) -> AsyncIterator[str]:
        log.append(f"{spec.name} {spec.engine} {spec.dialect}")
        yield "http://127.0.0.1:9"
        log.append(f"{spec.name} ended, {'invoked' if registry.find(spec.name) else 'out of service'}")

    registry = Registry()
    own, other = EndpointSpec("own", engine="tone"), EndpointSpec("other", "http://127.0.0.1:8", variants=("a", "b"))
    async with registry.serving(own, launch, never), registry.serving(other, launch, never):
        assert registry.find("own") == Backend("http://127.0.0.1:9", ("AllTraffic",), in_service=True)
        assert registry.find("other") == Backend("http://127.0.0.1:8", ("a", "b"), in_service=True)
        assert registry.find("Own") is None
        assert registry.running == (
            RunningEndpoint("own", "http://127.0.0.1:9", started=True),
            RunningEndpoint("other", "http://127.0.0.1:8", started=False),
        )
    assert log == ["own tone 0.26", "own ended, out of service"]
    assert not registry.running


@pytest.mark.anyio
async def test_a_server_that_ends_by_itself_takes_its_endpoint_out_of_service() -> None:
    told: list[tuple[str, int]] = []
    ends: list[Callable[[int], None]] = []

    @asynccontextmanager
    async def launch(_spec: EndpointSpec, ended: Callable[[int], None]) -> AsyncIterator[str]:
        ends.append(ended)
        yield "http://127.0.0.1:9"

    registry = Registry()
    async with registry.serving(EndpointSpec("own"), launch, lambda *end: told.append(end)):
        ends[0](-9)
        assert told == [("own", -9)]
        assert registry.find("own") == Backend("http://127.0.0.1:9", ("AllTraffic",), in_service=False)
        assert registry.running == (RunningEndpoint("own", "http://127.0.0.1:9", started=True, in_service=False),)
