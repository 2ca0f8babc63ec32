"""The golden sessions: their documents, the sweep of every prefix and leaf, and their variants."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from compaction_conformance.errors import Unavailable
from compaction_conformance.golden import document as golden
from compaction_conformance.golden.recording import ORACLE
from compaction_conformance.golden.sessions import GoldenSession, load_sessions
from compaction_conformance.golden.sweep_run import SweepVector, load_sweeps, run_sweeps, shown_outcome
from compaction_conformance.golden.variant_run import VariantVector, load_variants, run_variants
from compaction_conformance.implementation import Implementation
from compaction_conformance.paths import checkout_dir, spec_dir
from compaction_conformance.pytest_plugin import option
from compaction_conformance.run import Outcome
from compaction_conformance.spec import load_spec
from compaction_conformance.vectors import select


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    names = set(metafunc.fixturenames)
    if "golden_session" in names:
        sessions = load_sessions() if option(metafunc.config, "only") is None else ()
        metafunc.parametrize("golden_session", sessions, ids=lambda session: session.id)
    for fixture, load in (("sweep", load_sweeps), ("variant", load_variants)):
        if fixture in names:
            vectors = _selected(metafunc.config, load(load_spec(spec_dir())))
            metafunc.parametrize(fixture, vectors, ids=lambda vector: vector.id)


def _selected(config: pytest.Config, vectors: Any) -> tuple[Any, ...]:
    only, edition, profile = (option(config, name) for name in ("only", "edition", "profile"))
    return select(vectors, only=only, edition=edition, profile=profile)


@pytest.fixture(scope="session")
def sweep_outcomes(implementation: Implementation) -> Callable[[SweepVector], Outcome]:
    """Asks about a session once, for all of its operations."""
    known: dict[str, Outcome] = {}
    by_session: dict[str, list[SweepVector]] = {}
    for vector in load_sweeps(load_spec(spec_dir())):
        by_session.setdefault(vector.session.id, []).append(vector)

    def outcome(vector: SweepVector) -> Outcome:
        if vector.id not in known:
            outcomes = run_sweeps([implementation], by_session[vector.session.id])
            known.update({each.vector.id: each for each in outcomes})
        return known[vector.id]

    return outcome


@pytest.fixture(scope="session")
def variant_outcomes(implementation: Implementation) -> dict[str, Outcome]:
    """All variants of all sessions, asked at once."""
    outcomes = run_variants([implementation], load_variants(load_spec(spec_dir())))
    return {outcome.vector.id: outcome for outcome in outcomes}


def test_golden(golden_session: GoldenSession, implementation: Implementation, request: pytest.FixtureRequest) -> None:
    """The document is the recorded one. `--snapshot-update` writes it anew, from the oracle alone."""
    from compaction_conformance.suite.golden_files import GoldenFiles

    update = bool(request.config.option.update_snapshots)
    if update:
        _check_recording(implementation)
    if missing := golden.missing_operations(implementation):
        pytest.skip(f"undeclared operation {missing[0]}")
    snapshot = request.getfixturevalue("snapshot")
    document = golden.document(implementation, golden_session, mark=update)
    assert document == snapshot(name=golden_session.id, extension_class=GoldenFiles)


def _check_recording(implementation: Implementation) -> None:
    if implementation.description.name != ORACLE:
        pytest.fail(f"expected answers are recorded from the oracle: add --implementation {ORACLE}", pytrace=False)
    try:
        checkout_dir()
    except Unavailable as error:
        pytest.fail(str(error), pytrace=False)


def test_sweep(
    sweep: SweepVector, sweep_outcomes: Callable[[SweepVector], Outcome], pass_if_met: Callable[[Outcome], None]
) -> None:
    pass_if_met(shown_outcome(sweep_outcomes(sweep)))


def test_variant(
    variant: VariantVector, variant_outcomes: dict[str, Outcome], pass_if_met: Callable[[Outcome], None]
) -> None:
    pass_if_met(shown_outcome(variant_outcomes[variant.id]))
