"""Clients that leave, in every way and at every moment, and clients that fall silent."""

from tests.conformance.script import (
    DONE,
    DONE_ANSWERED,
    ERROR_ANSWERED,
    Abort,
    Close,
    Connect,
    Script,
    Send,
    Sleep,
    Step,
    Wait,
    WaitClosed,
    config,
    message,
    pcm,
    script,
    speak,
    text,
)

_SLOW = "[[slow:20]] A unit that takes its time."
_AFTERWARDS: tuple[Step, ...] = (Connect(), pcm(), *speak("The server is well."))

_MOMENTS: dict[str, tuple[Step, ...]] = {
    "before a config": (),
    "after a config": (pcm(),),
    "with text not flushed": (pcm(), text("Never spoken.")),
    "while a unit is streamed": (pcm(), text(_SLOW), DONE, Wait("audio")),
    "while a file is made": (config(), text(_SLOW), DONE, Wait("audio.start")),
    "with units waiting": (
        pcm(split_granularity="sentence"),
        text(f"{_SLOW} Two two. Three three. "),
        DONE,
        Wait("audio"),
    ),
    "after a flush": (pcm(), *speak("Hello.")),
    "after an error": (pcm(), message(type="ping"), ERROR_ANSWERED),
}


def _every_while(step: Step) -> tuple[Step, ...]:
    """Take a step three times, each time after more than half of the idle time-out."""
    return (Sleep(0.9), step) * 3


_WAYS: dict[str, Step] = {"closes": Close(), "closes with a code": Close(4321, "bye"), "vanishes": Abort()}

SCRIPTS: tuple[Script, ...] = (
    *(
        script(f"the client {way} {moment}", *steps, leave, *_AFTERWARDS)
        for moment, steps in _MOMENTS.items()
        for way, leave in _WAYS.items()
    ),
    script("silence at first", WaitClosed(), impatient=True),
    script("silence after a config", pcm(), WaitClosed(), impatient=True),
    script("silence with text not flushed", pcm(), text("Never spoken."), WaitClosed(), impatient=True),
    script("silence after a flush", pcm(), *speak("Hello."), WaitClosed(), impatient=True),
    script("silence after an error", pcm(), message(type="ping"), WaitClosed(), impatient=True),
    script(
        "an empty text resets the clock",
        pcm(),
        *_every_while(text("")),
        DONE,
        DONE_ANSWERED,
        impatient=True,
    ),
    script("a late config is in time", Sleep(0.4), pcm(), Sleep(0.9), *speak("In time."), impatient=True),
    script("messages and errors reset the clock", pcm(), *_every_while(Send("?")), impatient=True),
    script(
        "the clock stands while a unit is spoken",
        pcm(),
        text("[[slow:60]] " + "A unit that takes longer than the clock allows. " * 2),
        DONE,
        DONE_ANSWERED,
        Sleep(0.9),
        *speak("In time."),
        impatient=True,
    ),
    script(
        "silence after a slow unit",
        pcm(),
        text("[[slow:60]] A unit that takes a while."),
        DONE,
        DONE_ANSWERED,
        WaitClosed(),
        impatient=True,
    ),
)
