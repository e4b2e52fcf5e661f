"""The real vLLM-Omni speech handlers on a fake engine. Run it as a program, in the environment made for it."""
