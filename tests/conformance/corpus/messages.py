"""Messages after a valid config: wrong ones are answered and survived, a few are fatal."""

import json

from tests.conformance.script import (
    DONE,
    DONE_ANSWERED,
    ERROR_ANSWERED,
    Script,
    Send,
    SendInText,
    Step,
    WaitClosed,
    config,
    message,
    pcm,
    script,
    speak,
    text,
    texts,
)

_KIB = 1024
_MIB = 1024 * _KIB

_UNKNOWN_TYPES = {
    "ping": "ping",
    "input.cancel": "input.cancel",
    "a server's event": "audio.done",
    "empty": "",
    "null": None,
    "a boolean": False,
    "an integer": 12,
    "a float": 1e300,
    "a list": ["input.text", 1, None],
    "an object": {"a": {"b": "c'd"}},
    "an emoji": "🦜",
    "control characters": "a\n\t\x00b",
    "a trailing space": "input.text ",
}
_NOT_TEXT = {
    "a number": 1,
    "null": None,
    "a list": ["a"],
    "an object": {"a": 1},
    "a boolean": True,
}
_SURVIVED: dict[str, Send] = {
    "not JSON": Send("nonsense"),
    "an empty message": Send(""),
    "a list": Send('["input.text"]'),
    "null": Send("null"),
    "Infinity": Send("Infinity"),
}


def _sized(kind: str, field: str, size: int) -> Send:
    """Make a message of exactly `size` characters."""
    empty = json.dumps({"type": kind, field: ""})
    return Send(json.dumps({"type": kind, field: "x" * (size - len(empty))}))


def _survives(step: Step) -> tuple[Step, ...]:
    """Provoke an error between the pieces of a text, which is spoken whole."""
    return (pcm(), text("Before "), step, ERROR_ANSWERED, text("and after."), DONE, DONE_ANSWERED)


SCRIPTS: tuple[Script, ...] = (
    *(script(f"unknown type: {name}", *_survives(message(type=value, id=1))) for name, value in _UNKNOWN_TYPES.items()),
    script("no type", *_survives(message(text="Hello."))),
    *(script(f"text that is {name}", *_survives(text(value))) for name, value in _NOT_TEXT.items()),
    *(script(f"survived: {name}", *_survives(step)) for name, step in _SURVIVED.items()),
    script("text missing", pcm(), message(type="input.text"), DONE, DONE_ANSWERED),
    script("fields nobody knows", pcm(), message(type="input.text", text="Hi.", flush=True, voice="x"), DONE),
    script("done with a text", pcm(), text("Before."), message(type="input.done", text=" Not this."), DONE_ANSWERED),
    script("a text message at its limit", pcm(max_new_tokens=1), _sized("input.text", "text", 128 * _KIB), DONE),
    script("a text message beyond its limit", *_survives(_sized("input.text", "text", 128 * _KIB + 1))),
    script("another message beyond the limit", *_survives(_sized("ping", "data", 128 * _KIB + 1))),
    script("a config beyond the limit of texts", pcm(), _sized("session.config", "padding", 129 * _KIB)),
    script("a config at its limit", _sized("session.config", "padding", 4 * _MIB), pcm(), *speak("Fits.")),
    script("a config beyond its limit, first", _sized("session.config", "padding", 4 * _MIB + 1)),
    script("a config beyond its limit, later", *_survives(_sized("session.config", "padding", 4 * _MIB + 1))),
    script("nonsense beyond every limit", *_survives(Send("x" * (4 * _MIB + 1)))),
    script("nonsense beyond the limit of texts", *_survives(Send("x" * (129 * _KIB)))),
    script("limits count characters, not bytes", *_survives(Send("語" * (128 * _KIB)))),
    script("beyond what a frame may hold", pcm(), Send("x" * (17 * _MIB)), WaitClosed()),
    script("a binary frame", pcm(), Send(b"\x01\x02"), WaitClosed()),
    script("an empty binary frame", pcm(), Send(b""), WaitClosed()),
    script("a binary frame after text", pcm(), text("Never spoken."), Send(b"{}"), DONE, WaitClosed()),
    script("a binary frame after a flush", pcm(), text("Spoken first."), DONE, Send(b"{}"), DONE, WaitClosed()),
    script("a text frame that is not UTF-8, later", pcm(), SendInText(b'{"type":"\xc3"}'), WaitClosed()),
    script("a flush in fragments", pcm(), text("Whole."), Send(('{"type":"in', "put.do", 'ne"}')), DONE_ANSWERED),
    script("an integer of too many digits", pcm(), Send('{"type":"ping","n":' + "9" * 5000 + "}")),
    script("JSON nested too deeply", pcm(), Send("[" * 100_000)),
    script("half a surrogate pair in a text", pcm(), Send('{"type":"input.text","text":"a \\ud800 b"}'), DONE),
    script("half a surrogate pair as a type", pcm(), Send('{"type":"\\udfff"}'), *speak("After.")),
    script("half a surrogate pair as a voice", Send('{"type":"session.config","voice":"\\ud800"}'), *speak("Refused.")),
    script("a million characters", pcm(voice="nobody"), *texts(*["x" * 120_000] * 9), DONE),
    script(
        "reference audio and an embedding",
        config(ref_audio="data:audio/wav;base64,AAAA", speaker_embedding=[0.5]),
        text("Fatal."),
        DONE,
        WaitClosed(),
    ),
    script(
        "an embedding that is not finite",
        Send('{"type":"session.config","speaker_embedding":[NaN]}'),
        text("Fatal."),
        DONE,
        WaitClosed(),
    ),
    script("an error per message, pipelined", pcm(), *(message(type=f"x{n}") for n in range(20)), *speak("Done.")),
    script(
        "errors between the words",
        pcm(),
        text("One "),
        Send("?"),
        text("two "),
        message(type="x"),
        *texts("three."),
        DONE,
    ),
)
