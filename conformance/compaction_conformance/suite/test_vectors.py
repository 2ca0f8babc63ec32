"""Every vector is one test; its name is the vector's id."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from compaction_conformance.errors import ConformanceError
from compaction_conformance.paths import spec_dir, vector_dirs
from compaction_conformance.pytest_plugin import option
from compaction_conformance.run import FAILED, Outcome
from compaction_conformance.spec import load_spec
from compaction_conformance.vectors import Vector, load_vectors, select


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    only, edition, profile = (option(metafunc.config, name) for name in ("only", "edition", "profile"))
    try:
        spec = load_spec(spec_dir())
        spec.check_choice(edition, profile)
        everything = load_vectors([*vector_dirs(), *map(Path, option(metafunc.config, "vectors"))], spec)
    except ConformanceError as error:
        raise pytest.Collector.CollectError(str(error)) from None
    vectors = select(everything, only=only, edition=edition, profile=profile)
    metafunc.parametrize("vector", vectors, ids=lambda vector: vector.id)


def test_vector(
    vector: Vector,
    outcome_for: Callable[[Vector], Outcome],
    pass_if_met: Callable[[Outcome], None],
    record_property: Callable[[str, object], None],
    pytestconfig: pytest.Config,
) -> None:
    outcome = outcome_for(vector)
    record_property("requirement", vector.requirement.id)
    if outcome.verdict.reading:
        record_property("reading", outcome.verdict.reading)
    if outcome.status == FAILED and vector.level == "SHOULD" and not option(pytestconfig, "strict-advice"):
        pytest.xfail(f"advice, {vector.requirement.id} {vector.requirement.title}")
    pass_if_met(outcome)
