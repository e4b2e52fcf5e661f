"""The engine contract, the registry, and one module or folder per engine."""
