"""The one form of a request that both sides sign (AWS IAM user guide, "Elements of an AWS API request signature")."""

from collections.abc import Iterable, Mapping
from urllib.parse import quote, unquote_to_bytes


def joined(headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Give each header once, named in lower case, its values trimmed and joined; ``:authority`` is the host."""
    values: dict[str, str] = {}
    for name, value in headers:
        key = name.lower()
        if key.startswith(":"):
            if key == ":authority":
                values.setdefault("host", value)
            continue
        trimmed = " ".join(value.split())
        values[key] = f"{values[key]},{trimmed}" if key in values and key != "host" else trimmed
    return values


def canonical_headers(given: Mapping[str, str], signed: Iterable[str]) -> str:
    """Write the signed headers, each on a line of its own."""
    return "".join(f"{name}:{given[name]}\n" for name in sorted(signed))


def canonical_path(raw_path: str) -> str:
    """Write a path: dots and double slashes resolved, and encoded once more than it is on the wire."""
    segments: list[str] = []
    for segment in raw_path.split("/"):
        if segment == "..":
            del segments[-1:]
        elif segment not in {"", "."}:
            segments.append(segment)
    ends = "/" if segments and raw_path.endswith("/") else ""
    return quote("/" + "/".join(segments) + ends, safe="/~")


def canonical_query(raw_query: str) -> str:
    """Write a query: names and values encoded alike, and sorted."""
    pairs = sorted(
        (_encoded(name), _encoded(value))
        for name, _, value in (pair.partition("=") for pair in raw_query.split("&") if pair)
    )
    return "&".join(f"{name}={value}" for name, value in pairs)


def _encoded(text: str) -> str:
    return quote(unquote_to_bytes(text), safe="-_.~")
