"""Every named fault is caught by a rule that it breaks, and what caught it once catches it still."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from compaction_conformance import fault_run
from compaction_conformance.cli import main
from compaction_conformance.connect import Settings, connect
from compaction_conformance.fault_run import Caught
from compaction_conformance.faults import FAULTS, NEAR, SEED_CHAPTERS, Fault
from compaction_conformance.faults.corrected import CORRECTIONS, corrected
from compaction_conformance.faults.fault import Patched, edited
from compaction_conformance.run import run
from compaction_conformance.spec import Spec
from compaction_conformance.vectors import Vector
from compaction_conformance.verbs import proof
from compaction_conformance.verbs.proof import proof_dir

PINNED = proof_dir() / "faults.json"


@pytest.fixture(scope="module")
def caught(vectors: tuple[Vector, ...]) -> dict[str, Caught]:
    return {name: fault_run.catch(fault, vectors) for name, fault in FAULTS.items()}


def test_every_fault_is_caught_by_all_that_is_pinned(caught: dict[str, Caught]) -> None:
    assert fault_run.problems(list(caught.values()), fault_run.read_pinned(PINNED)) == []


def test_a_hundred_faults_are_reported_bugs() -> None:
    assert len(FAULTS) - len(NEAR) >= 100
    assert set(FAULTS) >= NEAR
    for fault in FAULTS.values():
        assert re.fullmatch(r"FLT-[a-z0-9-]+", fault.id)
        assert re.fullmatch(r"https://github\.com/[\w.-]+/[\w.-]+/(?:(?:issues|pull)/[0-9]+|blob/\S+)", fault.url)
        assert len(fault.wrong) >= 20 and not fault.wrong.endswith(".")


def test_faults_break_rules_that_exist(spec: Spec) -> None:
    profiles = {rule.id: spec.profiles[rule.chapter] for rule in spec.requirements.values()}
    for fault in FAULTS.values():
        assert {profiles[name] for name in fault.breaks} == {fault.profile}


def test_every_advice_and_every_source_chapter_has_a_fault(spec: Spec) -> None:
    broken = {name for fault in FAULTS.values() for name in fault.breaks}
    advice = {rule.id for rule in spec.requirements.values() if rule.level == "SHOULD"}
    assert advice <= broken
    assert {name for fault in FAULTS.values() for name in fault.chapters} == set(SEED_CHAPTERS)


def test_every_chapter_with_vectors_has_a_fault(spec: Spec, vectors: tuple[Vector, ...]) -> None:
    broken = {spec.requirements[name].chapter for fault in FAULTS.values() for name in fault.breaks}
    assert {vector.requirement.chapter for vector in vectors} <= broken


def test_all_advice_can_be_followed_together_with_every_must(vectors: tuple[Vector, ...]) -> None:
    own = [vector for vector in vectors if vector.profile == "coding-agent"]
    assert fault_run.failed(corrected(), "coding-agent", own) == []


@pytest.mark.parametrize("rule", CORRECTIONS)
def test_no_correction_is_idle(rule: str, vectors: tuple[Vector, ...]) -> None:
    about = [vector for vector in vectors if rule in {one.id for one in vector.requirements}]
    left_out = Patched("without", {}, "coding-agent")
    assert fault_run.failed(left_out, "coding-agent", about)


def test_a_fault_leaves_the_reference_as_it_was(vectors: tuple[Vector, ...]) -> None:
    own = [vector for vector in vectors if vector.requirement.chapter == "cut-point" and vector.level == "MUST"]
    fault = FAULTS["FLT-cut-at-tool-result"]
    assert fault_run.failed(fault.implementation(), "coding-agent", own)
    assert fault_run.failed(Patched("reference", {}), "coding-agent", own) == []


def test_a_fault_is_plugged_in_like_any_implementation(vectors: tuple[Vector, ...]) -> None:
    about = [vector for vector in vectors if vector.requirement.id == "CUT-09"]
    side = connect("python:compaction_conformance.faults:plugged.FLT-cut-keeps-all", Settings())
    assert side.description.name == "FLT-cut-keeps-all"
    assert run(side, about).exit_code(declared_only=True) == 1


def test_a_vector_that_no_longer_catches_is_an_error() -> None:
    fault = FAULTS["FLT-cut-keeps-all"]
    found = fault_run.problems([Caught(fault, ("CUT-a",), 2)], {fault.id: ["CUT-a", "CUT-b"]}, whole=False)
    assert found == ["FLT-cut-keeps-all: CUT-b caught it and does not any more"]


@pytest.mark.parametrize("lost", [True, False])
def test_what_catches_less_is_not_pinned(lost: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fault = FAULTS["FLT-fold-oldest"]
    (tmp_path / "PROOF.md").touch()
    before = ("PRJ-a", "PRJ-b") if lost else ("PRJ-a",)
    fault_run.write_pinned(tmp_path / "faults.json", [Caught(fault, before, 3)])
    old = (tmp_path / "faults.json").read_bytes()
    monkeypatch.setattr(proof, "FAULTS", {fault.id: fault})
    monkeypatch.setattr(fault_run, "FAULTS", {fault.id: fault})
    monkeypatch.setattr(proof, "proof_dir", lambda: tmp_path)
    monkeypatch.setattr(fault_run, "catch", lambda fault, _: Caught(fault, ("PRJ-a", "PRJ-c"), 3))
    assert main(["faults", "--pin"]) == lost
    assert ((tmp_path / "faults.json").read_bytes() == old) == lost


def test_a_fault_that_nothing_catches_is_an_error() -> None:
    fault = FAULTS["FLT-cut-keeps-all"]
    found = fault_run.problems([Caught(fault, (), 2)], {fault.id: []}, whole=False)
    assert found == ["FLT-cut-keeps-all: none of 2 vectors of CUT-09 catches it"]


def test_what_is_pinned_is_read_back(tmp_path: Path) -> None:
    one = Caught(FAULTS["FLT-fold-oldest"], ("PRJ-a", "PRJ-b"), 3)
    fault_run.write_pinned(tmp_path / "faults.json", [one])
    assert fault_run.read_pinned(tmp_path / "faults.json") == {"FLT-fold-oldest": ("PRJ-a", "PRJ-b")}


def test_a_fault_whose_place_is_gone_says_so() -> None:
    with pytest.raises(LookupError, match=r"the reference has no cut_point\.nowhere"):
        Fault("FLT-x", (), "", "", "", {"cut_point.nowhere": lambda right: right}).implementation()
    with pytest.raises(LookupError, match="holds 'not there' 0 times"):
        edited("not there", "")(fault_run.catch)
