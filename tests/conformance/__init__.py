"""The same scripts, played against the real vLLM-Omni speech handlers and against Antiphon."""
