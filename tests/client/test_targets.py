import pytest

from antiphon.client import targets
from antiphon.client.errors import TargetError
from antiphon.client.targets import ConnectOptions, open_transport, parse, register, schemes
from antiphon.client.transport import Transport
from antiphon.testing.endpoint import FakeEndpoint


@pytest.mark.parametrize(
    ("target", "complete"),
    [
        ("ws://127.0.0.1:8080", "ws://127.0.0.1:8080/v1/audio/speech/stream"),
        ("ws://127.0.0.1:8080/", "ws://127.0.0.1:8080/v1/audio/speech/stream"),
        ("  wss://speech.example  ", "wss://speech.example/v1/audio/speech/stream"),
        ("WS://Host:1/other", "ws://Host:1/other"),
        ("ws://[::1]:8080", "ws://[::1]:8080/v1/audio/speech/stream"),
        ("wss://h?region=x", "wss://h/v1/audio/speech/stream?region=x"),
    ],
)
def test_a_websocket_target_is_completed(target: str, complete: str) -> None:
    assert parse(target) == (complete.split(":", maxsplit=1)[0], complete)


@pytest.mark.parametrize(
    ("target", "lesson"),
    [
        ("", "empty"),
        ("localhost:8080", "did you mean ws://localhost:8080 ?"),
        ("localhost:8080/path", "did you mean ws://localhost:8080/path ?"),
        ("127.0.0.1:8080", "did you mean ws://127.0.0.1:8080 ?"),
        ("speech.example", "did you mean ws://speech.example ?"),
        ("//speech.example", "did you mean ws://speech.example ?"),
        ("wss//127", "did you mean wss://127 ?"),
        ("WS//h:1/path", "did you mean ws://h:1/path ?"),
        ("https//h", "did you mean wss://h ?"),
        ("http://h:1", "write ws:// instead of http://"),
        ("https://h", "write wss:// instead of https://"),
        ("gopher://h", "no transport for gopher: targets begin with "),
        ("ws://", "names no host"),
        ("ws://:8080", "names no host"),
        ("ws://h:0", "port 0"),
        ("ws://h:99999", "not a URL"),
        ("ws://h:eighty", "not a URL"),
        ("ws://[::1", "not a URL"),
        ("ws://h/#part", "no fragment"),
        (f"ws://{'h' * 64}/", "no host name"),
        ("wss://a..example", "no host name"),
        ("ws://h/a b", "white space"),
        ("ws://h/a\x00b", "white space"),
    ],
)
def test_the_error_teaches_what_to_write(target: str, lesson: str) -> None:
    with pytest.raises(TargetError) as caught:
        parse(target)

    assert lesson in str(caught.value)


@pytest.mark.parametrize("target", ["ws://user:s3cret@h", "user:s3cret@h", "ws://s3cret@h:1", "http://u:s3cret@h"])
def test_a_secret_in_a_target_is_refused_and_not_repeated(target: str) -> None:
    with pytest.raises(TargetError) as caught:
        parse(target)

    assert "s3cret" not in str(caught.value)


def test_the_key_is_not_in_the_repr_of_the_options() -> None:
    assert "s3cret" not in repr(ConnectOptions(api_key="s3cret"))


@pytest.mark.anyio
async def test_other_schemes_are_opened_by_whoever_registered_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(targets, "_openers", dict(targets._openers))
    opened: list[tuple[str, ConnectOptions]] = []

    async def open_other(target: str, options: ConnectOptions) -> Transport:
        opened.append((target, options))
        return FakeEndpoint().connect()

    register("Other", open_other)
    options = ConnectOptions(api_key="k")
    await open_transport("OTHER:tone?rate=2", options)

    assert opened == [("other:tone?rate=2", options)]
    assert schemes() == ("local", "other", "sagemaker", "sagemaker-invoke", "ws", "wss")
