"""Every MUST is held by a vector that was run, and the table says by what else."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from compaction_conformance import fault_run, traceability
from compaction_conformance.faults import FAULTS
from compaction_conformance.mutation import record as mutation_record
from compaction_conformance.mutation.record import ModuleRecord, Record
from compaction_conformance.run import FAILED, PASSED, Outcome
from compaction_conformance.spec import Spec
from compaction_conformance.traceability import Row
from compaction_conformance.vectors import Vector
from compaction_conformance.verbs import proof


@pytest.fixture(scope="module")
def rows(spec: Spec, vectors: tuple[Vector, ...]) -> dict[str, Row]:
    """From a run of the reference; what takes longer (faults, responses over HTTP) has tests of its own."""
    traced = traceability.trace(
        spec,
        proof.outcomes(vectors),
        record=mutation_record.read_record(proof.proof_dir() / "mutation.json"),
        sweeps=proof.sweeps(spec),
        properties=proof.properties(),
    )
    return {row.id: row for row in traced}


def test_no_rule_is_untested(rows: dict[str, Row], spec: Spec) -> None:
    responses = {row.id for row in rows.values() if row.id.startswith("RSP-")}
    assert [problem for problem in traceability.problems(rows.values()) if problem.split()[0] not in responses] == []
    assert set(rows) == set(spec.requirements)


def test_every_kind_of_proof_is_counted(rows: dict[str, Row]) -> None:
    for kind in traceability.KINDS:
        assert any(getattr(row, kind) for row in rows.values()) or kind == "faults", kind


def test_counts_are_those_of_the_run(spec: Spec, vectors: tuple[Vector, ...]) -> None:
    about = [vector for vector in vectors if vector.requirement.id == "CUT-09"]
    fault = FAULTS["FLT-cut-keeps-all"]
    one = replace(fault_run.catch(fault, about), by=(about[0].id,))
    outcomes = [Outcome(vector, PASSED if number else FAILED) for number, vector in enumerate(about)]
    record = Record({"cut_point": ModuleRecord("", 3, 0, {}, {}, {"CUT-09": 3})}, {})
    traced = traceability.trace(
        spec, outcomes, caught=[one], record=record, sweeps=[["CUT-09"]], properties=[["CUT-09", "CUT-01"]]
    )
    row = next(row for row in traced if row.id == "CUT-09")
    assert (row.vectors, row.passed) == (len(about), len(about) - 1)
    assert (row.sweeps, row.properties, row.faults, row.mutants, row.scenarios) == (1, 1, 1, 3, 0)
    assert row.twins == sum(vector.twin is not None for vector in about)


def test_a_fault_counts_only_for_rules_whose_vectors_catch_it(spec: Spec, vectors: tuple[Vector, ...]) -> None:
    about = [vector for vector in vectors if vector.requirement.id == "CUT-09"]
    one = replace(fault_run.catch(FAULTS["FLT-cut-keeps-all"], about), by=("CUT-of-another-rule",))
    traced = traceability.trace(spec, [Outcome(vector, PASSED) for vector in about], caught=[one])
    assert next(row for row in traced if row.id == "CUT-09").faults == 0


def test_a_must_that_nothing_tests_is_an_error(spec: Spec, vectors: tuple[Vector, ...]) -> None:
    about = [vector for vector in vectors if vector.requirement.id == "TRG-01"]
    problems = traceability.problems(traceability.trace(spec, [Outcome(vector, FAILED) for vector in about]))
    assert f"TRG-01 Compaction is due above the line: none of its {len(about)} vectors was met" in problems
    assert any(problem.startswith("TRG-02") and "no vector judges this MUST" in problem for problem in problems)
    assert not any(problem.startswith("TRG-08") for problem in problems)  # advice


def test_the_table_and_the_file_say_the_same(rows: dict[str, Row], spec: Spec, tmp_path: Path) -> None:
    table = list(traceability.chapter_rows(list(rows.values()), spec))
    assert table[0][0] == "chapter" and table[-1][0] == "all"
    assert table[-1][1] == str(len(rows))
    traceability.write_json(tmp_path / "trace.json", rows.values())
    read = json.loads((tmp_path / "trace.json").read_text(encoding="utf-8"))["requirements"]
    assert {row["id"]: row["vectors"] for row in read} == {row.id: row.vectors for row in rows.values()}
    lines = list(traceability.rule_rows(rows.values()))
    assert len(lines) == len(rows) + 1 and all(len(line) == len(lines[0]) for line in lines)
