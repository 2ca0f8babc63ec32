"""What the tests of the suite share: the implementation under test, connected once, and how a failure is told."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from compaction_conformance.connect import Settings, connect
from compaction_conformance.errors import ConformanceError
from compaction_conformance.expectation import NotRun
from compaction_conformance.implementation import Implementation
from compaction_conformance.pytest_plugin import option
from compaction_conformance.run import PASSED, UNSUPPORTED, Outcome, binds, run
from compaction_conformance.terminal import failure_block
from compaction_conformance.vectors import Vector
from compaction_conformance.verbs.common import again_options


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """A pattern that fits nothing is a mistake, and no success."""
    only = option(config, "only")
    own = [item for item in items if item.path.parent == Path(__file__).parent]
    chosen = [item for item in own if {"failure_text", "each"} & {*getattr(item, "fixturenames", ())}]
    if only is not None and chosen and all(map(_is_left_out, chosen)):
        pytest.exit(f"no vector fits --only {only!r}", returncode=pytest.ExitCode.USAGE_ERROR)


def _is_left_out(item: pytest.Item) -> bool:
    """Whether pytest made the test for an empty list of vectors."""
    skip = item.get_closest_marker("skip")
    return skip is not None and "empty parameter set" in str(skip.kwargs.get("reason"))


@pytest.fixture(scope="session")
def implementation(pytestconfig: pytest.Config) -> Iterator[Implementation]:
    """The implementation under test, connected once for the session."""
    settings = Settings(option(pytestconfig, "edition"), option(pytestconfig, "profile"))
    try:
        side = connect(option(pytestconfig, "implementation"), settings)
    except ConformanceError as error:
        pytest.exit(str(error), returncode=error.exit_code)
    yield side
    side.close()


@pytest.fixture(scope="session")
def outcome_for(implementation: Implementation) -> Callable[[Vector], Outcome]:
    """Runs one vector and says what became of it."""

    def outcome(vector: Vector) -> Outcome:
        if not binds(vector, implementation.description):
            pytest.skip(f"optional feature {vector.feature} is not declared")
        return run(implementation, (vector,)).outcomes[0]

    return outcome


@pytest.fixture(scope="session")
def failure_text(pytestconfig: pytest.Config, implementation: Implementation) -> Callable[[Outcome], str]:
    """Tells a failure, and the command line that repeats it."""
    name, label = option(pytestconfig, "implementation"), implementation.description.label
    chosen = {each: option(pytestconfig, each) for each in ("edition", "profile", "vectors")}
    again = again_options(argparse.Namespace(**chosen, timeout=Settings().time_limit))
    return lambda outcome: failure_block(outcome, label, name, None, again)


@pytest.fixture(scope="session")
def pass_if_met(failure_text: Callable[[Outcome], str]) -> Callable[[Outcome], None]:
    """Lets a test pass for the vectors that are met alone."""

    def checked(outcome: Outcome) -> None:
        if outcome.status == UNSUPPORTED:
            pytest.skip(f"undeclared operation {outcome.vector.operation}")
        if isinstance(outcome.reply, NotRun):
            pytest.fail(f"not run: {outcome.reply.reason}", pytrace=False)
        if outcome.status != PASSED:
            pytest.fail(failure_text(outcome), pytrace=False)

    return checked
