"""From text deltas to units worth speaking."""

from antiphon.text.auto import AutoOptions, AutoSegmenter
from antiphon.text.stock import Granularity, StockSplitter
from antiphon.text.units import Unit

__all__ = ["AutoOptions", "AutoSegmenter", "Granularity", "StockSplitter", "Unit"]
