"""Full-duplex speech: text streams in while it is written, PCM streams out before it is complete."""

__version__ = "0.1.0"
