from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antiphon.client.sagemaker.parts import MAX_MESSAGE_BYTES, Part, Reassembler
from antiphon.client.transport import ConnectionClosedError

messages = st.lists(st.one_of(st.text(), st.binary()))
cuts = st.lists(st.integers(0, 40), max_size=5)


@settings(deadline=None)
@given(messages, st.data())
def test_however_it_is_cut_the_messages_are_the_same(sent: list[str | bytes], data: st.DataObject) -> None:
    reassembler = Reassembler()
    received = []
    for message in sent:
        text = isinstance(message, str)
        encoded = message.encode() if isinstance(message, str) else message
        edges = [0, *sorted(min(cut, len(encoded)) for cut in data.draw(cuts)), len(encoded)]
        pieces = [encoded[start:end] for start, end in pairwise(edges)]
        for number, piece in enumerate(pieces):
            # The first part decides what the message is; what the later ones claim does not matter.
            kind = text if number == 0 else data.draw(st.booleans())
            whole = reassembler.add(Part(piece, text=kind, last=number == len(pieces) - 1))
            received += [whole] if whole is not None else []

    assert received == sent


def test_a_message_is_bounded_in_one_part_and_in_many() -> None:
    most = bytes(MAX_MESSAGE_BYTES)
    assert Reassembler().add(Part(most, text=False, last=True)) == most
    with pytest.raises(ConnectionClosedError, match="larger") as caught:
        Reassembler().add(Part(most + b"x", text=False, last=True))
    assert caught.value.code == 1009
    reassembler = Reassembler()
    assert reassembler.add(Part(most, text=False, last=False)) is None
    with pytest.raises(ConnectionClosedError, match="larger"):
        reassembler.add(Part(b"x", text=False, last=True))


def test_after_a_message_the_next_may_be_as_large() -> None:
    reassembler = Reassembler()
    half = bytes(MAX_MESSAGE_BYTES // 2)
    for _ in range(3):
        assert reassembler.add(Part(half, text=False, last=False)) is None
        assert reassembler.add(Part(half, text=False, last=True)) == half * 2


def test_text_must_be_utf_8() -> None:
    with pytest.raises(ConnectionClosedError) as caught:
        Reassembler().add(Part(b"\xe4", text=True, last=True))
    assert caught.value.code == 1007
