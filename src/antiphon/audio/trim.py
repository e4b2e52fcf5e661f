"""Cutting the silence that a model puts around a sentence, while the sentence is still being made."""

import numpy as np
from numpy.typing import NDArray

from antiphon.audio.measures import AUDIBLE
from antiphon.audio.pcm import FULL_SCALE

# The softest sample that is audible once it is s16, so that whoever measures what was sent finds what was meant.
_SOFTEST = np.float32((int(AUDIBLE * (FULL_SCALE + 1)) + 1) / FULL_SCALE)

_FADE_S = 0.005


class SilenceTrimmer:
    """Lets a sentence through with exactly `lead` samples before its first audible one and `tail` after its last.

    Silence inside the sentence stays. What comes out does not depend on how the sentence was cut into pieces.

    Args:
        lead: samples kept, or made up of silence, before the first audible one.
        tail: samples kept, or made up, after the last audible one.
        sample_rate: samples per second, for the length of the fades (5 ms) that keep both cuts from clicking.
    """

    def __init__(self, lead: int, tail: int, sample_rate: int) -> None:
        self._lead = lead
        self._tail = tail
        fade = round(_FADE_S * sample_rate)
        self._fade_in = np.linspace(0, 1, min(fade, lead), endpoint=False, dtype=np.float32)
        self._fade_out = np.linspace(1, 0, min(fade, tail), endpoint=False, dtype=np.float32)
        self._spare = tail - len(self._fade_out)
        self._held = np.zeros(lead, np.float32)
        self._begun = False
        self._quiet = 0  # silent samples let through since the last audible one

    def push(self, samples: NDArray[np.float32]) -> NDArray[np.float32]:
        """Take the next samples (float, shape [n]) and return those of the output that are certain by now."""
        self._held = np.concatenate([self._held, samples])
        audible = np.flatnonzero(np.abs(self._held) >= _SOFTEST)
        if len(audible):
            if not self._begun:
                audible -= self._begin(int(audible[0]))
            return self._release(int(audible[-1]) + 1, quiet=0)
        if self._begun:
            return self._release(0, self._quiet)
        self._held = self._held[max(0, len(self._held) - self._lead) :]
        return self._held[:0]

    def _begin(self, onset: int) -> int:
        """Drop what precedes the lead; return how many samples that were."""
        self._begun = True
        dropped = onset - self._lead
        self._held = self._held[dropped:].copy()
        self._held[: len(self._fade_in)] *= self._fade_in
        return dropped

    def _release(self, count: int, quiet: int) -> NDArray[np.float32]:
        """Let `count` samples go, and as much of the silence after them as neither sound nor an end can change."""
        extra = min(len(self._held) - count, self._spare - quiet)
        self._quiet = quiet + extra
        out, self._held = self._held[: count + extra], self._held[count + extra :]
        return out

    def finish(self) -> NDArray[np.float32]:
        """End the sentence and return the rest of it: of the tail, or nothing if it was silent throughout."""
        if not self._begun:
            return np.zeros(0, np.float32)
        out = np.zeros(self._tail - self._quiet, np.float32)
        kept = self._held[: len(out)]
        out[: len(kept)] = kept
        out[len(out) - len(self._fade_out) :] *= self._fade_out
        return out
