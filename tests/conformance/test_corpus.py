"""The corpus itself, and the documents that speak of it. Fast: nothing is played here."""

import re
from collections import Counter

from tests.conformance.corpus import SCRIPTS
from tests.conformance.differences import DIFFERENCES, as_markdown
from tests.conformance.environments import REQUIREMENTS, ROOT

_DOCUMENT = ROOT / "docs" / "conformance.md"
_LOCK = ROOT / "requirements" / "dev.txt"


def test_every_script_has_a_name_of_its_own() -> None:
    assert [name for name, count in Counter(script.name for script in SCRIPTS).items() if count > 1] == []


def test_every_difference_is_about_some_script() -> None:
    idle = [d.name for d in DIFFERENCES if not any(d.concerns(script.name) for script in SCRIPTS)]
    assert idle == []


def test_a_difference_changes_only_the_lines_it_is_about() -> None:
    lines = ['{"type":"session.done","utterance_index":0,"total_sentences":1}', "alive", "stuck"]
    assert [d.rewrite(lines) for d in DIFFERENCES] == [lines] * len(DIFFERENCES)


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
