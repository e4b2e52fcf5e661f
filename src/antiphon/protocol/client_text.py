"""Text as it can travel."""


def encodable(text: str) -> str:
    """Join surrogate pairs that arrived in halves and replace lone ones, which UTF-8 cannot carry."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
