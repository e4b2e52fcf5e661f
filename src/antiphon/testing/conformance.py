"""What `antiphon.engines.contract` promises, as checks that any step engine can be put through.

In a test suite::

    @pytest.mark.parametrize("check", ENGINE_CHECKS, ids=lambda check: check.__name__)
    def test_conformance(check: EngineCheck) -> None:
        check(Subject(MyEngine()))

or all at once, with `check_engine`.
"""

import itertools
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from antiphon.audio.pcm import BYTES_PER_SAMPLE, PcmChunk
from antiphon.engines.contract import EngineError, InvalidRequestError, SpeechUnit, StepEngine, Synthesis


class ConformanceError(AssertionError):
    """The engine breaks a promise of the contract."""


@dataclass(frozen=True, slots=True)
class Subject:
    """An engine and what to say to it.

    Attributes:
        engine: it is loaded by the checks.
        texts: at least two different sentences that it can speak, of three words or more.
        timeout_s: how long a step may go on after its unit was closed.
    """

    engine: StepEngine
    texts: tuple[str, ...] = ("The first sentence is spoken.", "Another one follows it.", "Three make a crowd.")
    timeout_s: float = 1.0

    @property
    def unit(self) -> SpeechUnit:
        """The first text with a seed."""
        return SpeechUnit(self.texts[0], seed=7)

    def begin(self, unit: SpeechUnit | None = None) -> Synthesis:
        """Load the engine and begin `unit`, or the usual one."""
        self.engine.load()
        return self.engine.synthesize(unit or self.unit)

    def speak(self, unit: SpeechUnit | None = None) -> bytes:
        """Speak `unit`, or the usual one, to its end."""
        return b"".join(chunk.data for chunk in self.begin(unit))


type EngineCheck = Callable[[Subject], None]


def check_engine(engine: StepEngine, **settings: object) -> None:
    """Put `engine` through all checks; `settings` are further fields of `Subject`.

    Raises:
        ConformanceError: a promise is broken; the message says which.
    """
    subject = replace(Subject(engine), **settings)  # type: ignore[arg-type]  # the fields check themselves
    for check in ENGINE_CHECKS:
        check(subject)


def _expect(condition: object, message: str) -> None:
    if not condition:
        raise ConformanceError(message)


def declares_sane_info(subject: Subject) -> None:
    """Names, rates and costs are there and make sense together."""
    info = subject.engine.info
    names = [voice.name for voice in info.voices]
    _expect(info.name and info.model, "an engine has a name and a model id")
    _expect(info.sample_rate > 0, "the sample rate is positive")
    _expect(info.step_ms > 0 and info.rtf > 0, "a step takes time: step_ms and rtf are positive")
    _expect(names and len(set(names)) == len(names), "there is at least one voice, and no name twice")
    _expect(all(name == name.lower() for name in [*names, *info.aliases]), "voices and aliases are lower case")
    _expect(set(info.aliases.values()) <= set(names), "every alias stands for a voice")
    _expect(not set(info.aliases) & set(names), "no alias has the name of a voice")
    _expect(
        all({*voice.languages} <= {*info.languages} for voice in info.voices), "the engine lists its voices' languages"
    )
    _expect({voice.derived_from for voice in info.voices} <= {None, *names}, "voices derive from voices there are")


def loads_again(subject: Subject) -> None:
    """`load` is idempotent."""
    subject.engine.load()
    subject.engine.load()
    _expect(subject.speak(), "an engine that was loaded twice speaks")


def sends_whole_samples_at_its_rate(subject: Subject) -> None:
    """Every chunk holds whole s16le samples at the declared rate, and there is some audio."""
    chunks = list(subject.begin())
    _expect(all(len(chunk.data) % BYTES_PER_SAMPLE == 0 for chunk in chunks), "a chunk holds whole samples")
    _expect(
        {chunk.sample_rate for chunk in chunks} == {subject.engine.info.sample_rate}, "chunks have the declared rate"
    )
    _expect(sum(chunk.samples for chunk in chunks) > 0, "a sentence makes a sound")


def repeats_itself_if_it_says_so(subject: Subject) -> None:
    """A deterministic engine gives the same bytes for the same unit and seed."""
    if subject.engine.info.deterministic:
        _expect(subject.speak() == subject.speak(), "the engine says it is deterministic, and is not")


def takes_any_seed(subject: Subject) -> None:
    """A seed may be any 64-bit integer, or None."""
    for seed in (None, 0, -1, 2**63 - 1, -(2**63)):
        _expect(subject.speak(replace(subject.unit, seed=seed)), f"the seed {seed} makes a sound")


def answers_to_its_names_in_any_case(subject: Subject) -> None:
    """Voices, aliases and languages are accepted in any case, and None, ``Auto`` and the defaults are the same."""
    info = subject.engine.info
    for voice in [*(voice.name for voice in info.voices), *info.aliases]:
        subject.engine.check(replace(subject.unit, voice=voice.upper()))
    for language in [*info.languages, "auto"]:
        subject.engine.check(replace(subject.unit, language=language.upper()))
    if info.deterministic:
        named = replace(subject.unit, voice=info.voices[0].name, language="Auto")
        _expect(subject.speak(named) == subject.speak(), "the first voice is the default one")


def refuses_what_it_does_not_know(subject: Subject) -> None:
    """An unknown voice or language is refused by `check` and by `synthesize`, with a message."""
    for unit in (replace(subject.unit, voice="no-such-voice"), replace(subject.unit, language="Klingon")):
        for ask in (subject.engine.check, subject.engine.synthesize):
            try:
                ask(unit)
            except InvalidRequestError as error:
                _expect(str(error), "a refusal has a message")
            else:
                raise ConformanceError(f"{ask.__name__} accepts voice {unit.voice} and language {unit.language}")


def stays_ended(subject: Subject) -> None:
    """After its end a unit gives nothing more, and may be closed."""
    synthesis = subject.begin()
    while not synthesis.exhausted and next(synthesis, None):
        pass
    _expect(not list(synthesis), "a unit that has ended, or says it has, gives nothing more")
    synthesis.close()


def closes_at_any_point(subject: Subject) -> None:
    """A unit closed before its first step, between two, or twice, gives nothing more."""
    for steps in (0, 1):
        synthesis = subject.begin()
        list(itertools.islice(synthesis, steps))
        synthesis.close()
        synthesis.close()
        _expect(not list(synthesis), f"a unit closed after {steps} steps gives nothing more")
    _expect(subject.speak(), "the engine speaks after a unit was closed")


def closes_while_a_step_runs(subject: Subject) -> None:
    """`close` from another thread ends the running step soon and without an error; other units do not notice."""
    whole = subject.speak()
    for delay_s in (0.0, 0.002, 0.01):
        _close_while_stepping(subject, delay_s)
    if subject.engine.info.deterministic:
        _expect(subject.speak() == whole, "the engine speaks as before after a step was cut short")


def _close_while_stepping(subject: Subject, delay_s: float) -> None:
    synthesis = subject.begin(_very_long(subject))
    chunks: list[PcmChunk] = []
    errors: list[BaseException] = []

    def step_to_the_end() -> None:
        try:
            for chunk in synthesis:
                chunks.append(chunk)
                time.sleep(0.001)  # lets the closing thread in, however fast the engine is
        except BaseException as error:  # noqa: BLE001 - whatever it is, it is reported below
            errors.append(error)

    # A daemon: a step that never ends is reported, not waited for.
    stepping = threading.Thread(target=step_to_the_end, daemon=True)
    stepping.start()
    time.sleep(delay_s)
    synthesis.close()
    given = len(chunks)
    stepping.join(subject.timeout_s)
    _expect(not stepping.is_alive(), "a step ends soon after its unit was closed")
    _expect(not errors, f"a unit that is closed ends without an error, and not with {errors}")
    _expect(len(chunks) <= given + 1, "after `close` no step begins")


def _very_long(subject: Subject) -> SpeechUnit:
    words = subject.texts[0].rstrip(".!?") + " "
    return SpeechUnit(words * (100_000 // len(words)))


def keeps_units_apart(subject: Subject) -> None:
    """Units stepped in turn, each step in another thread, sound as they do alone."""
    units = [replace(subject.unit, text=text) for text in subject.texts]
    alone = [subject.speak(unit) for unit in units]
    _expect(len(set(alone)) > 1, "different texts sound different")
    with ThreadPoolExecutor(len(units)) as pool:
        at_once = list(pool.map(subject.speak, units))
    in_turn = [b"".join(parts) for parts in _stepped_in_turn([subject.begin(unit) for unit in units])]
    if subject.engine.info.deterministic:
        _expect(at_once == alone, "units spoken at once sound as they do alone")
        _expect(in_turn == alone, "units stepped in turn sound as they do alone")
    _expect(all(at_once) and all(in_turn), "units spoken at once all make a sound")


def _stepped_in_turn(syntheses: list[Synthesis]) -> list[list[bytes]]:
    parts: list[list[bytes]] = [[] for _ in syntheses]
    alive = set(range(len(syntheses)))
    while alive:
        for index in sorted(alive):
            with ThreadPoolExecutor(1) as pool:
                chunk = pool.submit(next, syntheses[index], None).result()
            if chunk is None:
                alive.discard(index)
            else:
                parts[index].append(chunk.data)
    return parts


def survives_odd_texts(subject: Subject) -> None:
    """What cannot be pronounced is refused or silent, never a crash."""
    for text in ("\U0001f600", "...", " ", "\ud83d", "\x00", "a\ud800b", "猫", "9" * 400, "x" * 400, "\u200b"):
        try:
            subject.speak(SpeechUnit(text))
        except EngineError as error:
            _expect(str(error), "a refusal has a message")
    _expect(subject.speak(), "the engine speaks after odd texts")


def begins_a_very_long_text(subject: Subject) -> None:
    """A text of 100,000 characters without a stop begins to sound, and can be closed."""
    synthesis = subject.begin(_very_long(subject))
    chunks = list(itertools.islice(synthesis, 3))
    synthesis.close()
    _expect(sum(chunk.samples for chunk in chunks), "a long text makes a sound within three steps")


ENGINE_CHECKS: tuple[EngineCheck, ...] = (
    declares_sane_info,
    loads_again,
    sends_whole_samples_at_its_rate,
    repeats_itself_if_it_says_so,
    takes_any_seed,
    answers_to_its_names_in_any_case,
    refuses_what_it_does_not_know,
    stays_ended,
    closes_at_any_point,
    closes_while_a_step_runs,
    keeps_units_apart,
    survives_odd_texts,
    begins_a_very_long_text,
)
