import pytest

from antiphon.client.errors import OptionError
from antiphon.client.options import SpeechOptions, session_config


def test_what_is_left_out_or_none_is_not_sent() -> None:
    config = session_config({"voice": "ryan", "language": None})

    assert config.model_fields_set == {"voice", "response_format", "stream_audio", "split_granularity"}
    assert (config.response_format, config.stream_audio, config.split_granularity) == ("pcm", True, "none")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"voices": "ryan"}, "unknown option voices; there are: model, voice"),
        ({"response_format": "wav"}, "unknown option response_format"),
        ({"speed": 2.0}, r"speed=1\.0"),
        ({"seed": "many"}, "seed: "),
        ({"speaker_embedding": [0.0] * 9000}, "speaker_embedding: "),
    ],
)
def test_what_no_server_takes_is_refused_here(options: SpeechOptions, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        session_config(options)


def test_a_refusal_does_not_repeat_a_recording() -> None:
    with pytest.raises(OptionError) as caught:
        session_config({"ref_audio": 5, "ref_text": "data:" + "A" * 100})  # type: ignore[typeddict-item] # the point

    assert "AAAA" not in str(caught.value)
