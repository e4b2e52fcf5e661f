"""File descriptors: every connection needs one, and the system gives a process only so many."""

import contextlib

try:
    import resource
except ImportError:  # Windows has no such limit
    resource = None  # type: ignore[assignment]

# For what is no connection: files, pipes, and connections that are just being turned away.
RESERVED = 64


def most_connections(wanted: int) -> int:
    """Return how many connections the system lets this process have, at most `wanted`.

    The soft limit is raised if need be and the hard one allows it: the low default is for programs that use
    ``select``, which asyncio does not.
    """
    if resource is None:
        return wanted
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = wanted + RESERVED
    if _less(soft, needed):
        soft = hard if _less(hard, needed) else needed
        with contextlib.suppress(OSError, ValueError):  # some systems have a lower bound of their own
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return max(soft - RESERVED, soft // 2) if _less(soft, needed) else wanted


def _less(limit: int, number: int) -> bool:
    return limit != resource.RLIM_INFINITY and limit < number
