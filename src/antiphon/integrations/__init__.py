"""Adapters for agent frameworks; each needs its own extra."""
