"""Every format whole, what may be streamed, and failures of the engine in both ways."""

from tests.conformance.script import DONE, DONE_ANSWERED, Script, config, pcm, script, speak, text

_FORMATS = ("wav", "pcm", "flac", "mp3", "opus")
_LINE = "The tone of a file is heard."
_TIMESTAMPS = {"word_timestamps": True}

SCRIPTS: tuple[Script, ...] = (
    *(script(f"a whole {name}", config(response_format=name), *speak(_LINE)) for name in _FORMATS),
    *(
        script(
            f"a whole {name} per sentence",
            config(response_format=name, split_granularity="sentence"),
            *speak("One two. Three four."),
        )
        for name in _FORMATS
    ),
    *(
        script(f"a whole {name} that fails", config(response_format=name), *speak(f"[[fail:4800]] {_LINE}"))
        for name in _FORMATS
    ),
    script("streamed PCM", pcm(), *speak(_LINE)),
    script("a long unit streamed", pcm(), *speak(_LINE * 10)),
    script("a short unit streamed", pcm(), *speak("I")),
    script("the format changes", pcm(), *speak("PCM."), config(response_format="flac"), *speak("FLAC.")),
    script("streamed PCM fails at once", pcm(), *speak("[[fail:0]] Nothing.")),
    script("streamed PCM fails in the middle", pcm(), *speak("[[fail:19200]] It breaks off.")),
    script(
        "one sentence of three fails",
        pcm(split_granularity="sentence"),
        *speak("One two. [[fail:9600]] It breaks. Three four."),
    ),
    script("speech after a failure", pcm(), *speak("[[fail:9600]] It breaks."), *speak("It goes on.")),
    script("failures pipelined", pcm(), text("[[fail:0]]"), DONE, text("Good."), DONE, text("[[fail:1920]]"), DONE),
    *(
        script(f"speed {speed} in a whole {name}", config(response_format=name, speed=speed), *speak(_LINE))
        for speed in (0.25, 0.7, 1.3, 4.0)
        for name in ("wav", "pcm")
    ),
    script("speed cuts a sample short", config(response_format="pcm", speed=1.3), *speak("Fourteen chars")),
    script("speed 1 written out", pcm(speed=1), *speak(_LINE)),
    script("word timestamps, streamed", pcm(**_TIMESTAMPS), *speak("No aligner. Here.")),
    script("word timestamps, a whole file", config(**_TIMESTAMPS), *speak("No aligner.")),
    script(
        "word timestamps by sentences",
        pcm(split_granularity="sentence", **_TIMESTAMPS),
        text("One two. Three four. "),
        text("Five."),
        DONE,
        DONE_ANSWERED,
        pcm(),
        *speak("Without."),
    ),
)
