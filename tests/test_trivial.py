"""No trivial implementation passes a chapter, or comes near it."""

from __future__ import annotations

from pathlib import Path

import pytest

from compaction_conformance import trivial
from compaction_conformance.expectation import Error, ExpectResult, Result
from compaction_conformance.judge import accepted_value, first_difference
from compaction_conformance.spec import Spec
from compaction_conformance.tables import aligned
from compaction_conformance.vectors import Vector
from compaction_conformance.verbs.proof import proof_dir


@pytest.fixture(scope="module")
def scores(vectors: tuple[Vector, ...]) -> dict[str, trivial.Score]:
    return trivial.trivial_scores(vectors)


def test_no_chapter_is_passed_by_a_trick(scores: dict[str, trivial.Score]) -> None:
    assert trivial.problems(scores) == []


def test_every_chapter_is_tried_by_every_trick(scores: dict[str, trivial.Score], vectors: tuple[Vector, ...]) -> None:
    chapters = {vector.requirement.chapter for vector in vectors}
    assert len(scores) >= 12
    assert all(set(own) == chapters for own in scores.values())


def test_the_tricks_score_something_where_they_apply(scores: dict[str, trivial.Score]) -> None:
    for name, chapter in (
        ("never-overflow", "overflow"),
        ("always-overflow", "overflow"),
        ("cut-at-0", "cut-point"),
        ("cut-at-end", "cut-point"),
        ("keep-everything", "projection"),
        ("last-4", "projection"),
        ("no-tool-results", "messages"),
        ("identity", "messages"),
        ("tokens-0", "tokens"),
        ("tokens-100", "tokens"),
        ("empty", "file-operations"),
        ("refuse", "settings"),
        ("best-constant", "trigger"),
    ):
        passed, of = scores[name][chapter]
        assert (passed >= 0 if name == "refuse" else passed > 0) and passed < of, (name, chapter)


def test_a_trick_that_passes_a_chapter_is_an_error() -> None:
    assert trivial.problems({"lazy": {"trigger": (2, 3), "overflow": (3, 3)}}) == [
        "lazy meets 3 of 3 vectors of overflow: more than three quarters"
    ]


def test_no_constant_answers_more_than_three_quarters_of_an_operation(vectors: tuple[Vector, ...]) -> None:
    constants = trivial.best_constants(vectors)
    assert {one.operation for one in constants} >= {"cut/find", "overflow/is_overflow", "control/run"}
    assert [one for one in constants if 4 * one.met > 3 * one.of] == []


def test_the_best_constant_is_the_most_frequent_answer(vectors: tuple[Vector, ...]) -> None:
    about = [vector for vector in vectors if vector.operation == "trigger/should_compact" and vector.level == "MUST"]
    (best,) = trivial.best_constants(about)
    verdicts = [vector.expect.value["compact"] for vector in about if isinstance(vector.expect, ExpectResult)]
    assert best.met == max(verdicts.count(True), verdicts.count(False))
    assert isinstance(best.reply, Result | Error)


def test_free_words_do_not_keep_a_constant_from_its_vectors(vectors: tuple[Vector, ...]) -> None:
    asked = [vector for vector in vectors if vector.operation == "overflow/classify_text"]
    (best,) = trivial.best_constants(asked)
    verdicts = [vector.expect.value["overflow"] for vector in asked if isinstance(vector.expect, ExpectResult)]
    assert best.met == max(verdicts.count(True), verdicts.count(False)) > 0


def test_what_fills_an_expectation_is_accepted_by_it(vectors: tuple[Vector, ...]) -> None:
    expected = [(vector, vector.expect.value) for vector in vectors if isinstance(vector.expect, ExpectResult)]
    assert [v.id for v, want in expected if first_difference(want, accepted_value(want), v.params)] == []


def test_real_implementations_are_recorded_beside_them(scores: dict[str, trivial.Score]) -> None:
    recorded = trivial.read_recorded(proof_dir() / "scores.json")
    assert {"pi", "node-example"} <= set(recorded)
    for chapter, (passed, of) in recorded["pi"].items():
        assert passed == of or chapter == "recommended-classifier"
        assert all(own[chapter][0] < own[chapter][1] for own in scores.values())


def test_the_proof_shows_the_recorded_scores(spec: Spec) -> None:
    table = aligned(trivial.table(trivial.read_recorded(proof_dir() / "scores.json"), spec))
    assert table in (proof_dir() / "PROOF.md").read_text(encoding="utf-8")


def test_scores_are_read_back(tmp_path: Path) -> None:
    written: dict[str, trivial.Score] = {"a": {"cut-point": (1, 2)}}
    trivial.write_recorded(tmp_path / "scores.json", written)
    assert trivial.read_recorded(tmp_path / "scores.json") == written
    assert trivial.read_recorded(tmp_path / "none.json") == {}
