"""Cutting hibari's graph in two: what needs the whole sentence, and what can run on a window of it.

Up to one tensor the graph sees the whole sentence (phonemes, durations, pitch); after it there are only local
convolutions. Both parts together give, bit for bit, what the whole graph gives.
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from antiphon.engines import cache
from antiphon.engines.contract import EngineError

SEAM = "/Concat_43_output_0"

_ENCODER_INPUTS, _ENCODER_OUTPUTS = ["ids", "speed"], [SEAM, "f0"]
_VOCODER_OUTPUTS = ["lh", "theta", "ln", "lr", "phi"]
_FORMAT = 1  # of the cache file; part of its name
_DIGEST_SIZE = 32
_LENGTH_SIZE = 8


@dataclass(frozen=True, slots=True)
class GraphParts:
    """The two halves as serialised ONNX models.

    Attributes:
        encoder: ``ids`` int64 [1, L], ``speed`` float [1] -> features float [1, 130, F], ``f0`` float [1, F] in Hz.
        vocoder: features float [1, 130, n] -> five float [1, 601, n]: ``lh``, ``theta``, ``ln``, ``lr``, ``phi``.
    """

    encoder: bytes
    vocoder: bytes


def load_parts(model: Path) -> GraphParts:
    """Return the halves of the graph in `model`, from the cache or cut anew.

    Raises:
        EngineError: the file is missing or is another graph than expected.
    """
    try:
        graph = model.read_bytes()
    except OSError as error:
        raise EngineError(f"cannot read hibari's weights ({error}); reinstall 'hibari-tts[fast]'") from error
    name = f"hibari-{hashlib.sha256(graph).hexdigest()[:16]}-{_FORMAT}.cut"
    if parts := _unpack(cache.read(name) or b""):
        return parts
    parts = _cut(graph)
    cache.write(name, _pack(parts))
    return parts


def _pack(parts: GraphParts) -> bytes:
    body = len(parts.encoder).to_bytes(_LENGTH_SIZE, "little") + parts.encoder + parts.vocoder
    return hashlib.sha256(body).digest() + body


def _unpack(data: bytes) -> GraphParts | None:
    """Return the halves in `data`; None if anything of it was lost or changed."""
    digest, body = data[:_DIGEST_SIZE], data[_DIGEST_SIZE:]
    if hashlib.sha256(body).digest() != digest:
        return None
    end = _LENGTH_SIZE + int.from_bytes(body[:_LENGTH_SIZE], "little")
    return GraphParts(body[_LENGTH_SIZE:end], body[end:])


def _cut(graph: bytes) -> GraphParts:
    import onnx  # noqa: PLC0415  # takes 0.2 s, needed once
    from onnx.utils import Extractor  # noqa: PLC0415

    model = onnx.load_from_string(graph)
    if not any(SEAM in node.output for node in model.graph.node):
        raise EngineError("this hibari model cannot be cut; antiphon needs hibari-tts 0.2.1")
    model = onnx.shape_inference.infer_shapes(model)
    if SEAM not in {value.name for value in model.graph.value_info}:
        shape = [1, None, None]
        model.graph.value_info.append(onnx.helper.make_tensor_value_info(SEAM, onnx.TensorProto.FLOAT, shape))
    extractor = Extractor(model)
    return GraphParts(
        extractor.extract_model(_ENCODER_INPUTS, _ENCODER_OUTPUTS).SerializeToString(),
        extractor.extract_model([SEAM], _VOCODER_OUTPUTS).SerializeToString(),
    )
