"""hibari as a step engine."""

import threading

from antiphon.engines.contract import EngineInfo, InvalidRequestError, SpeechUnit
from antiphon.engines.hibari import voices
from antiphon.engines.hibari.dsp import SAMPLE_RATE
from antiphon.engines.hibari.model import HibariModel
from antiphon.engines.hibari.synthesis import LEAD_MS, Delivery, HibariSynthesis
from antiphon.engines.hibari.text import unreadable_script

MIN_SPEED, MAX_SPEED = 0.5, 2.0
MIN_PAUSE_MS, MAX_PAUSE_MS = 2 * LEAD_MS, 5000

_READS = frozenset(
    {
        "numbers",
        "ordinals",
        "decimals",
        "fractions",
        "percentages",
        "years",
        "dates",
        "times",
        "currency",
        "units",
        "phone numbers",
        "roman numerals",
        "abbreviations",
        "symbols",
    }
)


class HibariEngine:
    """English speech from the weights inside the hibari-tts wheel, on a CPU.

    Args:
        threads: of onnxruntime for one step; more than 1 is faster for one listener and wasteful for many.
        pause_ms: silence from the last audible sample of a sentence to the first of the next, in one unit or in
            two that are played one after the other; 40 to 5000 ms. A unit begins with 20 ms of it and ends with the rest.
        seed: of the noise in the voice, for units that name none.
    """

    def __init__(self, threads: int = 1, pause_ms: int = 200, seed: int = 0) -> None:
        if threads < 1:
            raise ValueError(f"threads must be at least 1, not {threads}")
        if not MIN_PAUSE_MS <= pause_ms <= MAX_PAUSE_MS:
            raise ValueError(f"pause_ms must be from {MIN_PAUSE_MS} to {MAX_PAUSE_MS}, not {pause_ms}")
        self._threads = threads
        self._pause_ms = pause_ms
        self._seed = seed
        self._model: HibariModel | None = None
        self._loading = threading.Lock()
        self.info = EngineInfo(
            name="hibari",
            model="hibari-tts",
            sample_rate=SAMPLE_RATE,
            voices=voices.VOICES,
            languages=(voices.LANGUAGE,),
            aliases=voices.ALIASES,
            deterministic=True,
            step_ms=8.0,
            rtf=0.009,
            reads=_READS,
        )

    def load(self) -> None:
        """Read the weights and speak a word with them (0.7 s; once more 0.5 s to cut the graph, then cached).

        Raises:
            EngineError: weights missing or unusable.
        """
        if self._model is None:
            for _ in self.synthesize(SpeechUnit("Ready.")):
                pass

    def _loaded(self) -> HibariModel:
        with self._loading:
            if self._model is None:
                self._model = HibariModel(self._threads)
            return self._model

    def check(self, unit: SpeechUnit) -> None:
        """Refuse other languages and scripts, unknown voices, voice cloning, and speeds beyond 0.5 to 2.

        Instructions and token limits are ignored: the model takes none.

        Raises:
            InvalidRequestError: with what it can do instead.
        """
        voices.timbre(unit.voice)
        if (unit.language or "Auto").lower() not in {"auto", voices.LANGUAGE.lower()}:
            raise InvalidRequestError(
                f"hibari speaks English, not {unit.language}; choose an engine whose languages include it"
            )
        if not MIN_SPEED <= unit.speed <= MAX_SPEED:
            raise InvalidRequestError(f"hibari speaks at speeds from {MIN_SPEED} to {MAX_SPEED}, not {unit.speed}")
        _check_task(unit)
        if script := unreadable_script(unit.text):
            raise InvalidRequestError(f"hibari reads English in Latin letters; this text is mostly {script}")

    def synthesize(self, unit: SpeechUnit) -> HibariSynthesis:
        """Begin a unit. A text without anything to pronounce (emoji, punctuation) gives no chunk at all.

        Raises:
            InvalidRequestError: as `check`.
        """
        self.check(unit)
        seed = self._seed if unit.seed is None else unit.seed
        delivery = Delivery(voices.timbre(unit.voice), unit.speed, self._pause_ms, seed)
        return HibariSynthesis(self._loaded, unit.text, delivery)


def _check_task(unit: SpeechUnit) -> None:
    task = unit.task_type or "CustomVoice"
    if task != "CustomVoice":
        raise InvalidRequestError(f"hibari has fixed voices: task_type must be CustomVoice, not {task}")
    cloning = [name for name in ("ref_audio", "ref_text", "speaker_embedding") if getattr(unit, name) is not None]
    if cloning:
        raise InvalidRequestError(
            f"hibari has fixed voices and cannot clone one: {', '.join(cloning)} is not supported"
        )
