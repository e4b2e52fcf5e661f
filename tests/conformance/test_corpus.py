"""The corpus itself, and the documents that speak of it. Fast: nothing is played here."""

import re
from collections import Counter

import pytest
from tests.conformance.corpus import SCRIPTS
from tests.conformance.differences import DIFFERENCES, as_markdown, comparable, expected
from tests.conformance.environments import REQUIREMENTS, ROOT

_DOCUMENT = ROOT / "docs" / "conformance.md"
_LOCK = ROOT / "requirements" / "dev.txt"


def test_every_script_has_a_name_of_its_own() -> None:
    assert [name for name, count in Counter(script.name for script in SCRIPTS).items() if count > 1] == []


def test_every_difference_is_about_some_script() -> None:
    idle = [d.name for d in DIFFERENCES if not any(d.concerns(script.name) for script in SCRIPTS)]
    assert idle == []


@pytest.mark.parametrize(
    "lines",
    [
        ["stuck"],
        ['{"type":"session.done","utterance_index":0,"total_sentences":1}', "alive"],
        ['{"type":"session.done","utterance_index":0,"total_sentences":1}', "closed by the server: 1006 ''"],
        [
            "audio: 4 bytes, sha256 0123",
            '{"type":"error","message":"Internal error: odd"}',
            "closed by the server: 1006 ''",
        ],
        ["closed by the server: 1011 'oops'"],
    ],
    ids=["stuck", "alive", "dropped after an answer", "dropped after an unknown error", "closed otherwise"],
)
def test_a_difference_for_every_script_leaves_what_it_is_not_about(lines: list[str]) -> None:
    assert expected("any other script", lines) == lines
    assert comparable("any other script", lines) == lines


def test_the_document_has_the_table_of_differences() -> None:
    assert as_markdown() in _DOCUMENT.read_text(encoding="utf-8")


def test_the_document_says_what_is_not_played() -> None:
    text = _DOCUMENT.read_text(encoding="utf-8")
    missing = [
        s.name for s in SCRIPTS for dialect, why in s.skip.items() if f"| {s.name} | {dialect} | {why} |" not in text
    ]
    assert missing == []


def test_the_oracle_has_the_versions_that_the_project_has() -> None:
    pins = dict(re.findall(r"^([\w-]+)==([\w.]+)", REQUIREMENTS.read_text(encoding="utf-8"), re.MULTILINE))
    lock = dict(re.findall(r"^([\w-]+)==([\w.]+)", _LOCK.read_text(encoding="utf-8"), re.MULTILINE))
    assert {name: lock[name] for name in pins if name in lock} == {name: pins[name] for name in pins if name in lock}
