"""Every vector is one test; its name is the vector's id."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from compaction_conformance.run import FAILED, NOT_RUN, UNSUPPORTED, Outcome
from compaction_conformance.vectors import Vector


def test_vector(
    vector: Vector,
    outcome_for: Callable[[Vector], Outcome],
    failure_text: Callable[[Outcome], str],
    record_property: Callable[[str, object], None],
    strict: bool,
) -> None:
    outcome = outcome_for(vector)
    record_property("requirement", vector.requirement.id)
    if outcome.verdict.reading:
        record_property("reading", outcome.verdict.reading)
    if outcome.status == UNSUPPORTED:
        pytest.skip(f"undeclared operation {vector.operation}")
    if outcome.status == NOT_RUN:
        pytest.fail(f"not run: {getattr(outcome.reply, 'reason', '')}", pytrace=False)
    if outcome.status == FAILED and vector.level == "SHOULD" and not strict:
        pytest.xfail(f"advice, {vector.requirement.id} {vector.requirement.title}")
    if outcome.status == FAILED:
        pytest.fail(failure_text(outcome), pytrace=False)
