"""A bidirectional stream's input, without sockets."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.emulator.runtime.raw_client import part

from antiphon.emulator.runtime.input_frames import InputError, InputFrames, unwrap_unverified
from antiphon.emulator.wire.eventstream import encode
from antiphon.emulator.wire.parts import Frame, Opcode
from antiphon.emulator.wire.sigv4 import SignatureError


def wrapped(inner: bytes) -> bytes:
    """An event as a client signs it, with a signature of nobody."""
    return encode({":chunk-signature": bytes(32)}, inner)


@given(st.lists(st.tuples(st.binary(max_size=40), st.booleans(), st.booleans())), st.integers(1, 60))
def test_every_part_is_a_frame_however_the_bytes_are_cut(sent: list[tuple[bytes, bool, bool]], size: int) -> None:
    data = b"".join(wrapped(part(data, text=text, final=final)) for data, text, final in sent) + wrapped(b"")
    frames = InputFrames(unwrap_unverified)
    got = [frame for at in range(0, len(data), size) for frame in frames.feed(data[at : at + size])]
    assert [(frame.data, frame.fin) for frame in got] == [(data, final) for data, _, final in sent]
    assert (frames.ended, frames.ended_by_event) == (True, True)


def test_frames_before_an_error_are_given() -> None:
    frames = InputFrames(unwrap_unverified).feed(part(b"good") + part(b"bad")[:-1] + b"\0")
    assert next(frames) == Frame(Opcode.TEXT, True, b"good", True)
    with pytest.raises(InputError) as caught:
        next(frames)
    assert caught.value.code == "ValidationError"


def test_a_signature_error_keeps_its_name() -> None:
    def unwrap(_: object) -> bytes:
        raise SignatureError("InvalidSignatureException", "no")

    with pytest.raises(InputError) as caught:
        list(InputFrames(unwrap).feed(part(b"x")))
    assert (caught.value.code, str(caught.value)) == ("InvalidSignatureException", "no")


def test_the_end_of_the_body_ends_the_input_unless_an_event_is_cut_off() -> None:
    frames = InputFrames(unwrap_unverified)
    list(frames.feed(part(b"x")))
    frames.end()
    assert (frames.ended, frames.ended_by_event) == (True, False)
    cut = InputFrames(unwrap_unverified)
    list(cut.feed(part(b"x")[:-1]))
    with pytest.raises(InputError):
        cut.end()
