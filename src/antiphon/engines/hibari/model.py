"""hibari's network and G2P, shared by all units that are being spoken."""

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort
from hibari import Hibari
from hibari.g2p import G2P
from hibari.g2p.normalize import normalize
from hibari.tts import ASSETS
from hibari.voices import voice_path
from onnxruntime.capi.onnxruntime_pybind11_state import Fail, RuntimeException

from antiphon.engines.contract import EngineError
from antiphon.engines.hibari import graph, text
from antiphon.engines.hibari.dsp import Floats, Spectra

# What onnxruntime raises when a run fails or is told to stop.
OrtError = (Fail, RuntimeException)

CONTEXT = 27  # frames to each side that the vocoder's convolutions see: 3 + 8 * 3, kernels of 7

# The encoder's last channel is the log energy of each frame, normalised. Measured on 480 sentences at speeds from 0.5
# to 2: speech begins at most one frame before the onset's threshold is crossed, and ends at most two after the energy
# falls below the other one. (At speed 0.5 some long sentences have a faint breath, -50 dBFS, a tenth of a second
# before their speech; it is left out.)
_ONSET_ENERGY, _ONSET_SLOPE = -1.0, -0.2  # slow speech swells slowly, so its threshold is higher
_END_ENERGY = -1.2
LEAD_FRAMES, _TAIL_FRAMES = 3, 4


@dataclass(frozen=True, slots=True)
class Encoded:
    """A sentence between the two halves of the network.

    Attributes:
        features: float [1, 130, F], F frames of 12.5 ms.
        f0: float [F], Hz.
    """

    features: Floats
    f0: Floats

    def audible(self, speed: float) -> range:
        """The frames from `LEAD_FRAMES` before the first one with sound to just after the last."""
        energy = self.features[0, -1]
        begun = np.flatnonzero(energy > _ONSET_ENERGY + _ONSET_SLOPE * math.log2(speed))
        alive = np.flatnonzero(energy > _END_ENERGY)
        if not len(begun):
            return range(0)
        return range(max(0, int(begun[0]) - LEAD_FRAMES), min(len(self.f0), int(alive[-1]) + 1 + _TAIL_FRAMES))


class HibariModel:
    """The loaded network. All methods may be called by many threads at once.

    Args:
        threads: of onnxruntime, for one run.
    """

    def __init__(self, threads: int) -> None:
        parts = graph.load_parts(Path(voice_path("heart", download_missing=False)))
        self._encoder = _session(parts.encoder, threads)
        self._vocoder = _session(parts.vocoder, threads)
        self._ids: dict[str, int] = json.loads(Path(ASSETS, "vocab.json").read_text(encoding="utf-8"))
        self._g2p = G2P()
        self._g2p("Zyxt")  # loads the network for unknown words

    def read(self, unit: str) -> Iterator[list[int]]:
        """Yield the phoneme ids of `unit`, a sentence at a time, or less of a sentence that takes too long at once.

        There is no more than one call of the G2P between two items. One that finds nothing to say yields an empty item.

        Raises:
            EngineError: the package fails on the text.
        """
        for block in text.blocks(unit):
            for sentence in filter(text.sounds, Hibari.split_sentences(block)):
                for phonemes in self._phonemes(sentence):
                    yield from [self._ids_of(run) for run in text.phoneme_runs(phonemes)] or [[]]

    def _ids_of(self, run: str) -> list[int]:
        ids = [self._ids[phoneme] for phoneme in run if phoneme in self._ids]
        return [0, *ids, 0] if ids else ids

    def _phonemes(self, sentence: str) -> Iterator[str]:
        try:
            for piece in text.pieces(normalize(text.plain(sentence))):
                yield str(self._g2p(piece, normalize_text=False))
        except Exception as error:  # the package's rules for odd texts fail in many ways
            raise EngineError(f"hibari cannot pronounce a sentence of this text ({type(error).__name__})") from error

    def encode(self, ids: list[int], speed: float, options: ort.RunOptions) -> Encoded:
        """Run the half that needs the whole sentence.

        Raises:
            OrtError: `options.terminate` was set.
        """
        inputs = {"ids": np.asarray([ids], np.int64), "speed": np.asarray([speed], np.float32)}
        features, f0 = self._encoder.run(None, inputs, options)
        return Encoded(features, f0[0])

    def vocode(self, encoded: Encoded, start: int, stop: int, options: ort.RunOptions) -> Spectra:
        """Run the local half for frames `start` to `stop`.

        Its int8 activations are scaled per run, so a window differs from the whole by about -28 dB of noise.

        Raises:
            OrtError: `options.terminate` was set.
        """
        first = max(0, start - CONTEXT)
        window = np.ascontiguousarray(encoded.features[:, :, first : stop + CONTEXT])
        outputs: list[Any] = self._vocoder.run(None, {graph.SEAM: window}, options)
        lh, theta, ln, lr, phi = (output[0, :, start - first : stop - first] for output in outputs)
        return lh, theta, ln, lr, phi


def _session(model: bytes, threads: int) -> ort.InferenceSession:
    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = threads
    options.log_severity_level = 4  # a run that was told to stop is no error to report
    return ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
