"""How large each chunk of a unit may be: the first one small, so that it comes soon, the rest as large as is safe."""

from collections.abc import Iterator


def chunk_sizes(first: int, limit: int, rtf: float) -> Iterator[int]:
    """Yield chunk sizes without end, in whatever unit `first` and `limit` are (frames, samples).

    An engine of real-time factor `rtf` needs ``rtf * size`` for a chunk. A player that started with the first chunk
    holds `lead` when the work on the next one begins, so it stays fed as long as ``size <= lead / rtf``. From
    `rtf` 1 on nothing keeps it fed, and the size stays at `first`.

    Args:
        first: size of the first chunk, at least 1.
        limit: no chunk is larger; at least `first`.
        rtf: CPU seconds per second of audio, above 0; take that of a loaded machine.
    """
    size = first
    lead = 0.0
    while True:
        yield size
        lead += size if not lead else size * (1 - rtf)
        size = min(limit, max(first, int(lead / rtf)))
