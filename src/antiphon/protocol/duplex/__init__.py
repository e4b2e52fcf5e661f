"""``antiphon/1``: contexts that are queued, flushed and cancelled on one connection."""
