"""Configs in every place, and what each of their fields does."""

from typing import Any

from tests.conformance.script import (
    DONE,
    DONE_ANSWERED,
    ERROR_ANSWERED,
    Script,
    Sleep,
    config,
    pcm,
    script,
    speak,
    text,
)

_ACCEPTED: dict[str, dict[str, Any]] = {
    "nothing": {},
    "unknown fields": {"colour": "blue", "sample_rate": 8000, "dialect": None, "self": 1, "not an identifier": 2},
    "null everywhere": dict.fromkeys(("model", "voice", "task_type", "language", "instructions", "max_new_tokens")),
    "a null speed": {"speed": None},
    "numbers in strings": {"speed": "1.0", "max_new_tokens": "100", "initial_codec_chunk_frames": "0"},
    "whole numbers as floats": {"max_new_tokens": 100.0},
    "booleans in strings": {"word_timestamps": "false", "non_streaming_mode": "yes"},
    "every hint": {"initial_codec_chunk_frames": 1, "non_streaming_mode": False, "instructions": "Softly."},
    "a speaker": {"speaker": "ryan"},
    "a voice and a speaker that is wrong": {"voice": "ryan", "speaker": "nobody"},
    "a speaker and a voice that is wrong": {"speaker": "ryan", "voice": "nobody"},
    "a seed": {"seed": 7},
    "a negative seed": {"seed": -(2**63)},
}
_STREAMED = {"response_format": "pcm", "stream_audio": True}

SCRIPTS: tuple[Script, ...] = (
    *(
        script(f"config accepted: {name}", config(**(_STREAMED | fields)), *speak("Is it accepted?"))
        for name, fields in _ACCEPTED.items()
    ),
    script("the default format is a wav file", config(), *speak("A file.")),
    script("two configs in a row", config(voice="vivian"), pcm(voice="ryan"), *speak("The second one counts.")),
    script("a config between utterances", pcm(), *speak("First."), pcm(voice="ryan"), *speak("Second.")),
    script("a config replaces all of the last one", pcm(language="English"), *speak("PCM."), config(), *speak("WAV.")),
    script(
        "a wrong voice does not outlive its config",
        pcm(voice="nobody"),
        *speak("Not spoken."),
        pcm(),
        *speak("Spoken."),
    ),
    script("the granularity is replaced too", pcm(split_granularity="sentence"), pcm(), *speak("One. Unit. Only.")),
    script("a config while text is buffered", pcm(), text("Buffered"), config(), ERROR_ANSWERED, text(" text."), DONE),
    script("a config while text is buffered, pipelined", pcm(), text("Buffered"), config(), text(" text."), DONE),
    script(
        "an invalid config while text is buffered",
        pcm(),
        text("Buffered."),
        config(speed=9),
        ERROR_ANSWERED,
        DONE,
        DONE_ANSWERED,
    ),
    script(
        "a config after a unit was spoken early",
        pcm(split_granularity="sentence"),
        text("Spoken at once. "),
        pcm(),
        DONE,
        DONE_ANSWERED,
    ),
    script("a config after an empty text", pcm(), text(""), pcm(voice="ryan"), *speak("Which one?")),
    script("a config after an empty text and a flush", pcm(), text(""), DONE, pcm(voice="ryan"), *speak("Fine.")),
    script("a config after white space", pcm(), text("  "), config(), text("Still open."), DONE),
    script("a config after a flush, pipelined", pcm(), text("One."), DONE, config(), text("Two."), DONE),
    script(
        "an invalid config keeps the old one",
        pcm(voice="ryan"),
        config(response_format="aac"),
        ERROR_ANSWERED,
        *speak("Still here."),
    ),
    script("an unknown model later keeps the old config", pcm(), config(model="nope"), *speak("Still here.")),
    script(
        "invalid, valid, invalid configs",
        pcm(),
        config(speed=9),
        config(),
        config(speed=0),
        *speak("As the valid one says."),
    ),
    script("an invalid config between utterances", pcm(), *speak("One."), config(task_type="x"), *speak("Two.")),
    script("the counter of utterances outlives a config", pcm(), DONE, DONE, pcm(), *speak("Index two.")),
    script("a config right after a failed unit", pcm(voice="nobody"), text("No."), DONE, pcm(), *speak("Yes.")),
    script("a config late, once the answer came", pcm(), *speak("One."), Sleep(0.05), config(), *speak("Two.")),
)
