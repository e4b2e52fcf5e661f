"""hibari-tts: English neural speech on a CPU, with its first sound before the sentence is done.

The package speaks a sentence at a time. Here its graph is cut in two (`graph`), the local half runs on windows
(`model`, `plan`), the signal processing on frames as they come (`dsp`), and the silence around sentences is trimmed.
"""

from antiphon.engines.hibari.engine import HibariEngine

__all__ = ["HibariEngine"]
