"""The chapters are in shape, and every rule that can be judged is judged."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from pathlib import Path

import pytest

from compaction_conformance.corpus.cases import load_corpus
from compaction_conformance.corpus.response_vectors import response_vectors
from compaction_conformance.errors import InvalidInput
from compaction_conformance.paths import spec_dir
from compaction_conformance.spec import Spec, load_spec
from compaction_conformance.vectors import Vector

OF_RESPONSES = "provider-responses"  # its near misses are cases of the corpus, which have no twins


@pytest.fixture(scope="module")
def all_vectors(spec: Spec, vectors: tuple[Vector, ...]) -> tuple[Vector, ...]:
    """Those of the files, and those that the overflow corpus stands for."""
    return (*vectors, *response_vectors(load_corpus(), spec))


def test_every_rule_has_vectors_that_are_about_it(spec: Spec, all_vectors: tuple[Vector, ...]) -> None:
    about = {vector.requirement.id for vector in all_vectors}
    judged = {rule.id for vector in all_vectors for rule in vector.requirements}
    assert [rule for rule in spec.requirements if rule not in judged] == []
    musts = [rule.id for rule in spec.requirements.values() if rule.level in ("MUST", "QUIRK")]
    assert [rule for rule in musts if rule not in about] == []


def test_every_must_has_a_twin(spec: Spec, all_vectors: tuple[Vector, ...]) -> None:
    twinned = {rule.id for vector in all_vectors if vector.twin for rule in vector.requirements}
    musts = [rule for rule in spec.requirements.values() if rule.level == "MUST" and rule.chapter != OF_RESPONSES]
    assert [rule.id for rule in musts if rule.id not in twinned] == []


def test_every_reading_of_a_quirk_is_expected_by_a_vector(spec: Spec, all_vectors: tuple[Vector, ...]) -> None:
    expected: dict[str, set[str]] = defaultdict(set)
    for vector in all_vectors:
        for name, _ in getattr(vector.expect, "readings", ()):
            expected[vector.requirement.id].add(name)
    for rule in spec.requirements.values():
        assert set(rule.readings) == expected[rule.id], rule.id


def test_every_must_and_quirk_vector_was_observed(all_vectors: tuple[Vector, ...]) -> None:
    optional = [vector for vector in all_vectors if vector.feature is None and vector.level in ("MUST", "QUIRK")]
    assert {vector.evidence[0] for vector in optional} <= {"observed", "report"}
    assert all("0.87" in vector.evidence[1] for vector in optional)


def test_every_rule_gives_a_reason_and_a_source(spec: Spec) -> None:
    for rule in spec.requirements.values():
        assert rule.why, rule.id
        assert rule.source, rule.id
        assert rule.sentence.endswith((".", ":")), rule.id


def test_rules_named_anywhere_in_the_spec_exist(spec: Spec) -> None:
    prefixes = {rule[:3] for rule in spec.requirements}
    for path in spec_dir().glob("*.md"):
        for name in re.findall(r"\b([A-Z]{3}-[0-9]{2,3})\b", path.read_text(encoding="utf-8")):
            if name[:3] in prefixes:
                assert name in spec.requirements, f"{path.name} names {name}"


def test_retired_ids_are_not_used_again(spec: Spec) -> None:
    retired = json.loads((spec_dir() / "tombstones.json").read_text(encoding="utf-8"))["requirements"]
    assert set(retired) & set(spec.requirements) == set()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("# T\n\n### PRJ-1 · short\nMUST · pi-0.87 · observed\n\nA rule.\n", "heading out of shape"),
        ("# T\n\n### PRJ-01 · ok\nMAY · pi-0.87 · observed\n\nA rule.\n", "no valid level line"),
        ("# T\n\n### PRJ-01 · ok\nMUST · pi-0.87 · rumour\n\nA rule.\n", "no valid level line"),
        ("# T\n\n### PRJ-01 · ok\n", "no valid level line"),
        ("# T\n\n### PRJ-01 · ok\nMUST · pi-0.87 · observed\n", "has no sentence"),
        ("# T\n\n### PRJ-01 · ok\nQUIRK · pi-0.87 · observed\n\nA rule.\n", "lists no readings"),
        ("# T\n\n" + "### PRJ-01 · ok\nMUST · pi-0.87 · observed\n\nA rule.\n\n" * 2, "used twice"),
    ],
)
def test_a_rule_out_of_shape_is_named(text: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "03-projection.md").write_text(text)
    with pytest.raises(InvalidInput, match=words):
        load_spec(tmp_path)


def test_a_folder_without_chapters_is_no_spec(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="no chapter found"):
        load_spec(tmp_path)
