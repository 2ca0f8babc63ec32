"""Every response of the overflow corpus is one test: what is made of it, and is it taken for an overflow?

The implementation under test asks a replay server. The reference reads the same bytes from a mock of httpx as well, so
that what a socket does to them cannot decide.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import respx

from compaction_conformance.connect import REFERENCE, Settings, connect
from compaction_conformance.corpus.cases import load_corpus
from compaction_conformance.corpus.replay_mock import mocked
from compaction_conformance.corpus.response_vectors import ResponseVector, response_vectors
from compaction_conformance.corpus.server import ReplayServer
from compaction_conformance.errors import ConformanceError
from compaction_conformance.implementation import Implementation
from compaction_conformance.paths import spec_dir
from compaction_conformance.pytest_plugin import option
from compaction_conformance.run import FAILED, PASSED, Outcome, run
from compaction_conformance.spec import load_spec
from compaction_conformance.terminal import failure_block
from compaction_conformance.vectors import Vector, select


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    try:
        everything = response_vectors(load_corpus(), load_spec(spec_dir()))
    except ConformanceError as error:
        raise pytest.UsageError(str(error)) from None
    only, edition, profile = (option(metafunc.config, name) for name in ("only", "edition", "profile"))
    vectors = select(everything, only=only, edition=edition, profile=profile)
    metafunc.parametrize("response", vectors, ids=lambda vector: vector.id)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """The address of a running server."""
    with ReplayServer(load_corpus()) as server:
        yield server.url


@pytest.fixture(scope="module")
def reference() -> Iterator[Implementation]:
    side = connect(REFERENCE, Settings())
    yield side
    side.close()


def test_response(
    response: ResponseVector,
    url: str,
    outcome_for: Callable[[Vector], Outcome],
    pass_if_met: Callable[[Outcome], None],
    record_property: Callable[[str, object], None],
) -> None:
    outcome = outcome_for(response.at(url))
    record_property("requirement", response.requirement.id)
    if outcome.verdict.reading:
        record_property("reading", outcome.verdict.reading)
    pass_if_met(outcome)


def test_response_without_a_socket(response: ResponseVector, reference: Implementation) -> None:
    with respx.mock(assert_all_called=False) as router:
        router.route(host="127.0.0.1").mock(side_effect=mocked(load_corpus()))
        outcome = run(reference, (response,)).outcomes[0]
    if outcome.status == FAILED:
        pytest.fail(failure_block(outcome, reference.description.label, REFERENCE, None), pytrace=False)
    assert outcome.status == PASSED
