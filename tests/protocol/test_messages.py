"""The wire's messages."""

import pytest
from pydantic import ValidationError

from antiphon.protocol.messages import (
    AudioChunkMessage,
    AudioDone,
    AudioStart,
    ErrorMessage,
    InputDone,
    InputText,
    MalformedMessageError,
    ServerMessage,
    SessionClose,
    SessionConfig,
    SessionDone,
    UnknownMessage,
    WordTimestamp,
    parse_server_message,
)

START = AudioStart(utterance_index=1, sentence_index=2, sentence_text="Olá, “世界”.", format="pcm", sample_rate=24000)
SERVER_MESSAGES: list[tuple[ServerMessage, str]] = [
    (
        START,
        (
            '{"type":"audio.start","utterance_index":1,"sentence_index":2,"sentence_text":"Olá, “世界”.","format":"pcm",'
            '"sample_rate":24000}'
        ),
    ),
    (
        AudioStart(utterance_index=0, sentence_index=0, sentence_text='"', format="wav"),
        '{"type":"audio.start","utterance_index":0,"sentence_index":0,"sentence_text":"\\"","format":"wav"}',
    ),
    (
        AudioDone(utterance_index=0, sentence_index=1, total_bytes=0, error=True),
        '{"type":"audio.done","utterance_index":0,"sentence_index":1,"total_bytes":0,"error":true}',
    ),
    (
        SessionDone(utterance_index=3, total_sentences=0),
        '{"type":"session.done","utterance_index":3,"total_sentences":0}',
    ),
    (ErrorMessage(message="No."), '{"type":"error","message":"No."}'),
    (
        ErrorMessage(message="No.", partial_audio=True, action="discard"),
        '{"type":"error","message":"No.","partial_audio":true,"action":"discard"}',
    ),
    (
        AudioChunkMessage(chunk_end_ms=80, sample_rate=24000, audio_b64="AAA="),
        (
            '{"type":"audio.chunk","utterance_index":0,"sentence_index":0,"chunk_id":0,"chunk_start_ms":0,'
            '"chunk_end_ms":80,"sample_rate":24000,"audio_b64":"AAA=","timestamps":null}'
        ),
    ),
    (
        AudioChunkMessage(sample_rate=24000, timestamps=(WordTimestamp(word="a", start_ms=0, end_ms=9),)),
        (
            '{"type":"audio.chunk","utterance_index":0,"sentence_index":0,"chunk_id":0,"chunk_start_ms":0,'
            '"chunk_end_ms":0,"sample_rate":24000,"audio_b64":"","timestamps":[{"word":"a","start_ms":0,"end_ms":9}]}'
        ),
    ),
]


@pytest.mark.parametrize(("message", "expected"), SERVER_MESSAGES)
def test_server_messages_have_the_stock_fields_in_the_stock_order(message: ServerMessage, expected: str) -> None:
    assert message.to_json() == expected
    assert parse_server_message(expected) == message


def test_client_messages_carry_what_was_given() -> None:
    assert InputText(text="é").to_json() == '{"type":"input.text","text":"é"}'
    assert InputText().to_json() == '{"type":"input.text","text":""}'
    assert InputDone().to_json() == '{"type":"input.done"}'
    assert SessionClose().to_json() == '{"type":"session.close"}'
    assert SessionConfig().to_json() == '{"type":"session.config"}'
    assert SessionConfig(voice="a", speed=1.0).to_json() == '{"type":"session.config","voice":"a","speed":1.0}'


def test_messages_cannot_be_changed() -> None:
    with pytest.raises(ValidationError):
        START.format = "wav"  # type: ignore[misc]  # that is the point


@pytest.mark.parametrize("kind", ["audio.start", "audio.chunk", "audio.done", "session.done", "error"])
def test_only_the_type_is_required_and_unknown_fields_are_ignored(kind: str) -> None:
    bare = parse_server_message(f'{{"type":"{kind}"}}')
    assert not isinstance(bare, UnknownMessage)
    assert parse_server_message(f'{{"type":"{kind}","channels":1}}') == bare


def test_a_type_from_the_future_is_unknown_not_an_error() -> None:
    assert parse_server_message('{"type":"session.ready","x":[]}') == UnknownMessage(type="session.ready")


@pytest.mark.parametrize("data", ["", "{", "[]", "1", "{}", '{"type":1}', '{"type":null}', "[" * 100_000])
def test_a_frame_that_is_no_message_is_named_so(data: str) -> None:
    with pytest.raises(MalformedMessageError, match="the server sent"):
        parse_server_message(data)


def test_a_wrong_value_names_the_field_and_quotes_nothing() -> None:
    with pytest.raises(MalformedMessageError, match=r"audio\.done with wrong values in: total_bytes$") as caught:
        parse_server_message('{"type":"audio.done","total_bytes":"secret"}')
    assert "secret" not in str(caught.value)
