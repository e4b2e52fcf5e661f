"""hibari's voices: the one it was trained on, and others made from it by moving its pitch and formants."""

from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from antiphon.engines.contract import InvalidRequestError, Voice

LANGUAGE = "English"


@dataclass(frozen=True, slots=True)
class Timbre:
    """How a voice differs from the trained one.

    Attributes:
        pitch: factor of the fundamental frequency.
        formants: factor of the spectral envelope's frequencies.
    """

    pitch: float = 1.0
    formants: float = 1.0

    def envelope(self, bins: NDArray[np.float32]) -> NDArray[np.float32]:
        """Stretch log spectra (shape [bins, frames]) along their bins."""
        if self.formants == 1.0:
            return bins
        count = bins.shape[0]
        source = np.minimum(np.arange(count) / self.formants, count - 1)
        low = source.astype(np.intp)
        high = np.minimum(low + 1, count - 1)
        weight = (source - low).astype(np.float32)[:, None]
        stretched: NDArray[np.float32] = bins[low] * (1 - weight) + bins[high] * weight
        return stretched


TRAINED = "heart"
_TIMBRES = {
    TRAINED: Timbre(),
    "heart-low": Timbre(0.60, 0.87),
    "heart-mid": Timbre(0.78, 0.94),
    "heart-high": Timbre(1.15, 1.05),
}
_DESCRIPTIONS = {
    TRAINED: "American English, female",
    "heart-low": "American English, deep",
    "heart-mid": "American English, between deep and bright",
    "heart-high": "American English, bright",
}

VOICES = tuple(
    Voice(name, (LANGUAGE,), description, derived_from=None if name == TRAINED else TRAINED)
    for name, description in _DESCRIPTIONS.items()
)

# The voices of Qwen3-TTS CustomVoice, so that its clients run unchanged; the likeness ends at high and low.
ALIASES = MappingProxyType(
    {
        "aiden": "heart-mid",
        "dylan": "heart-mid",
        "eric": "heart-low",
        "ono_anna": "heart-high",
        "ryan": "heart-low",
        "serena": "heart",
        "sohee": "heart-high",
        "uncle_fu": "heart-low",
        "vivian": "heart",
    }
)


def timbre(voice: str | None) -> Timbre:
    """Return what makes `voice` (a name or alias in any case; None for the trained one).

    Raises:
        InvalidRequestError: no such voice.
    """
    name = (voice or TRAINED).lower()
    found = _TIMBRES.get(ALIASES.get(name, name))
    if found is None:
        raise InvalidRequestError(
            f"hibari has no voice '{name}'; it has {', '.join(_TIMBRES)}, and answers to {', '.join(ALIASES)}"
        )
    return found
