"""A local SageMaker for tests, as a fixture of pytest.

Name the fixture in your ``conftest.py``, and every test that asks for it has an endpoint ``qwen3-tts`` that speaks, in
the dialect of AWS's images::

    from antiphon.testing import local_sagemaker

    def test_it(local_sagemaker):
        boto3.client("sagemaker-runtime").invoke_endpoint(EndpointName="qwen3-tts", ...)
"""

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from antiphon.emulator.process import ENDPOINTS, OPTIONS, LocalSageMaker, LocalSageMakerError

__all__ = ["LocalSageMaker", "LocalSageMakerError", "local_sagemaker"]


@pytest.fixture(scope="session")
def local_sagemaker(request: pytest.FixtureRequest) -> Iterator[LocalSageMaker]:
    """A local SageMaker for the whole session, to which the environment leads every client of AWS.

    Its endpoint ``qwen3-tts`` is a server of ours with the engine `tone`. A fixture ``local_sagemaker_endpoints`` of
    yours (of scope session) may return other endpoints, and one ``local_sagemaker_options`` other options of
    ``antiphon emulate up``.
    """
    endpoints = _overridden(request, "local_sagemaker_endpoints", ENDPOINTS)
    options = _overridden(request, "local_sagemaker_options", OPTIONS)
    with LocalSageMaker(endpoints, options) as running, running.applied():
        yield running


def _overridden(request: pytest.FixtureRequest, name: str, default: Sequence[str]) -> Sequence[str]:
    try:
        value: Any = request.getfixturevalue(name)
    except pytest.FixtureLookupError:
        return default
    return tuple(value)
