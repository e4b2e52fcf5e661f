"""Every script, in both dialects: Antiphon answers as the real handlers of vLLM-Omni do."""

import asyncio
from collections.abc import Iterable
from contextlib import ExitStack

import pytest
from tests.conformance import servers
from tests.conformance.corpus import SCRIPTS
from tests.conformance.differences import comparable, expected
from tests.conformance.normal import normalise
from tests.conformance.player import play_all
from tests.conformance.script import DIALECTS, Dialect, Script

pytestmark = [pytest.mark.conformance, pytest.mark.timeout(300)]

type Answers = dict[str, list[str]]


@pytest.fixture(scope="session", params=DIALECTS)
def dialect(request: pytest.FixtureRequest) -> Dialect:
    chosen: Dialect = request.param
    return chosen


@pytest.fixture(scope="session")
def answers(dialect: Dialect) -> tuple[Answers, Answers]:
    """What the handlers of vLLM-Omni and what Antiphon answered, by script."""
    stock: Answers = {}
    ours: Answers = {}
    for impatient in (False, True):
        scripts = [s for s in SCRIPTS if s.impatient == impatient and dialect not in s.skip]
        options = servers.SHORT_TIMEOUTS if impatient else ()
        with ExitStack() as stack:
            urls = [stack.enter_context(start(dialect, options)) for start in (servers.oracle, servers.antiphon)]
            played = asyncio.run(_play_both(scripts, urls))
        stock |= played[0]
        ours |= played[1]
    return stock, ours


async def _play_both(scripts: list[Script], urls: Iterable[str]) -> list[Answers]:
    transcripts = await asyncio.gather(*(play_all(scripts, url) for url in urls))
    return [{name: normalise(transcript) for name, transcript in played.items()} for played in transcripts]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_antiphon_answers_as_vllm_omni_does(script: Script, dialect: Dialect, answers: tuple[Answers, Answers]) -> None:
    if dialect in script.skip:
        pytest.skip(script.skip[dialect])
    stock, ours = answers
    assert comparable(script.name, ours[script.name]) == expected(script.name, stock[script.name])
