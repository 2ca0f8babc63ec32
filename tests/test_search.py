"""`search` finds what is wrong, makes it small, writes it down once, and says nothing about what is right."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import search_targets
import wrong
from compaction_conformance import schemas
from compaction_conformance.connect import Settings, connect
from compaction_conformance.errors import ConformanceError, HandshakeFailed, InvalidInput
from compaction_conformance.expectation import NotRun, Reply, Result
from compaction_conformance.implementation import Implementation, Request
from compaction_conformance.in_process import InProcess
from compaction_conformance.properties import all_properties
from compaction_conformance.run import FAILED, PASSED, run
from compaction_conformance.search.cause import Cause, requirement_for, shape_of
from compaction_conformance.search.hunting import Limits, Search, SearchReport
from compaction_conformance.search.hunts import Finding, Sides, expectation_for
from compaction_conformance.search.inputs import inputs_for
from compaction_conformance.search.vectors import found_vector, merged, write_found
from compaction_conformance.spec import Spec
from compaction_conformance.vectors import load_vectors
from compaction_conformance.verbs import search as verb

SearchFor = Callable[..., SearchReport]


@pytest.fixture(scope="module")
def reference() -> Implementation:
    return connect("reference", Settings())


def plugged(target: Any) -> Implementation:
    return InProcess(target, edition="pi-0.87", profile="coding-agent")


@pytest.fixture
def searched(reference: Implementation) -> SearchFor:
    """Searches with a fixed seed and a fixed number of examples, so that a test finds the same at every run."""

    def search(target: Any, only: str = "", examples: int = 300, oracle: Implementation | None = None) -> SearchReport:
        judge = oracle or reference
        limits = Limits(seconds=120, seed=7, examples=examples)
        chosen = lambda own_id, names: not only or any(only in name for name in (own_id, *names))  # noqa: E731
        return Search(Sides(plugged(target), judge, judge), limits, chosen).run()

    return search


# ---- found, small, and written ---------------------------------------------------------------------------------------

WRONG = [
    ("differential projection/messages", wrong.keeps_all, "projection/messages", 2),
    ("PROP-PRJ-edit-last", search_targets.first_edit_wins, "projection/messages", 3),
    ("PROP-CUT-tool-result", search_targets.parts_pairs, "cut/find", 3),
    ("differential cut/find", search_targets.parts_pairs, "cut/find", 3),
    ("PROP-TOK-stale", search_targets.trusts_stale_usage, "tokens/of_projection", 3),
    ("PROP-machine", search_targets.trusts_stale_usage, "tokens/of_projection", 6),
]


@pytest.mark.parametrize(("only", "target", "operation", "entries"), WRONG, ids=[f"{row[0]}-{row[2]}" for row in WRONG])
def test_a_fault_is_found_and_made_small(
    only: str, target: Any, operation: str, entries: int, searched: SearchFor
) -> None:
    found = [one for one in searched(target, only, 600).findings.values() if one.verdict.failure == "mismatch"]
    assert {one.cause.operation for one in found} == {operation}
    assert min(len(one.params["entries"]) for one in found) <= entries


def test_bytes_for_units_are_found_in_one_message(searched: SearchFor) -> None:
    found = searched(wrong.counts_bytes, "PROP-TOK-blocks").findings
    smallest = min(found.values(), key=lambda one: one.size)
    assert smallest.cause == Cause("TOK-07", "tokens/of_message", "/tokens", "mismatch")
    assert len(smallest.params["message"]["content"]) <= 3


DELIBERATE = [
    (wrong.keeps_all, "differential projection/messages"),
    (search_targets.parts_pairs, "PROP-CUT-tool-result"),
    (search_targets.trusts_stale_usage, "PROP-TOK-stale"),
]


@pytest.mark.parametrize(("target", "only"), DELIBERATE, ids=[row[1] for row in DELIBERATE])
def test_a_written_vector_fails_on_the_wrong_one_and_passes_on_the_reference(
    target: Any, only: str, searched: SearchFor, reference: Implementation, spec: Spec, tmp_path: Path
) -> None:
    report = searched(target, only, 600)
    vectors = [found_vector(one, reference.description, spec) for one in report.findings.values()]
    write_found(vectors, tmp_path)
    loaded = load_vectors([tmp_path], spec)
    assert len(loaded) == len(merged(vectors)) > 0
    assert {outcome.status for outcome in run(reference, loaded).outcomes} == {PASSED}
    assert {outcome.status for outcome in run(plugged(target), loaded).outcomes} == {FAILED}


def test_an_endless_recovery_is_found(searched: SearchFor) -> None:
    found = searched(search_targets.loops, "CTL-one-recovery", 40).findings
    assert [cause.requirement for cause in found] == ["CTL-36"]


def test_a_crash_is_one_finding_of_its_own_class(searched: SearchFor) -> None:
    found = searched(wrong.crashes, "PROP-TOK-from-usage").findings
    assert {(cause.requirement, cause.failure) for cause in found} == {("TOK-01", "unexpected_error")}


def test_an_answer_of_the_wrong_shape_is_told_as_such(searched: SearchFor) -> None:
    found = searched(wrong.bad_shape, "PROP-TOK-from-usage").findings
    assert {cause.failure for cause in found} == {"schema_violation"}


# ---- nothing that is right -------------------------------------------------------------------------------------------


def test_nothing_is_found_in_the_reference(reference: Implementation) -> None:
    report = Search(Sides(reference, reference, reference), Limits(seconds=120, seed=3, examples=4)).run()
    assert (report.findings, report.unexplained, report.incomplete) == ({}, {}, "")
    assert report.hunts > len(all_properties())


def test_another_reading_of_a_quirk_is_no_finding(searched: SearchFor) -> None:
    report = searched(search_targets.clean_reading, "cut/find", 30)
    assert report.findings == {}
    assert report.unexplained == {}


def test_an_implementation_that_serves_one_operation_is_searched_by_that(searched: SearchFor) -> None:
    report = searched(wrong.partial)
    assert report.findings == {}
    assert 0 < report.hunts < 5


def test_a_property_that_the_oracle_breaks_as_well_gives_no_vector(searched: SearchFor) -> None:
    report = searched(wrong.keeps_all, "PRE-compacted", oracle=plugged(wrong.keeps_all))
    assert report.findings == {}
    assert set(report.unexplained) == {"PROP-PRE-compacted"}


def test_one_seed_finds_the_same_twice(searched: SearchFor) -> None:
    one, other = (searched(wrong.keeps_all, "PRJ-fold", 40).findings for _ in range(2))
    assert {cause: found.request for cause, found in one.items()} == {c: f.request for c, f in other.items()}


def test_between_two_implementations_the_wrong_one_is_named(reference: Implementation) -> None:
    sides = Sides(reference, plugged(wrong.keeps_all), reference)
    only = lambda own_id, _names: own_id == "differential projection/messages"  # noqa: E731
    report = Search(sides, Limits(seconds=60, seed=1, examples=100), only).run()
    assert {found.implementation for found in report.findings.values()} == {"keeps-all 0.1.0"}


def test_who_cannot_be_asked_any_more_leaves_the_search_incomplete(reference: Implementation) -> None:
    class Gone:
        description = reference.description
        log = ""

        def answers(self, requests: Iterable[Request]) -> Iterator[Reply]:
            for _ in requests:
                yield NotRun("the restarts are spent")

        def close(self) -> None: ...

    report = Search(Sides(Gone(), reference, reference), Limits(seconds=60, examples=3)).run()
    assert report.incomplete == "the restarts are spent"


# ---- causes and files ------------------------------------------------------------------------------------------------


def test_a_shape_ends_at_the_first_list() -> None:
    assert shape_of("/messages/12/content/0/text") == "/messages/*"
    assert shape_of("/preparation/tokensBefore") == "/preparation/tokensBefore"
    assert shape_of("/children/u1/0") == shape_of("/children/a2") == "/children/*"
    assert shape_of("") == ""


def test_every_operation_that_is_asked_has_a_rule_for_every_place(spec: Spec) -> None:
    for operation in schemas.operations():
        params = {"message": {"role": "?"}, "entries": [], "messages": [], "draft": {}}
        assert requirement_for(operation, params, "/somewhere") in spec.requirements, operation


def test_differential_runs_ask_all_operations_but_those_with_free_words_or_a_server() -> None:
    unasked = {operation for operation in schemas.operations() if inputs_for(operation) is None}
    assert unasked == {"summary/compact", "branch/summarize", "overflow/classify", "overflow/classify_text"}


def test_times_of_entries_written_one_after_the_other_are_told_apart() -> None:
    line = '{"type":"custom","id":"0000000%d","parentId":null,"timestamp":"2030-01-01T00:00:00.000Z"}'
    written = Result({"content": f"{line % 1}\n{line % 2}\n"})
    made = expectation_for("session/write", written, {"content": None, "drafts": []})
    times = [entry["timestamp"] for entry in made["result"]["content"]["$lines"][:2]]
    assert len(set(times)) == 2


@pytest.fixture
def finding(searched: SearchFor) -> Finding:
    return min(searched(wrong.counts_bytes, "TOK-blocks").findings.values(), key=lambda one: one.size)


def with_longer_text(finding: Finding) -> Finding:
    longer = json.dumps({"message": {**finding.params["message"], "content": "ééééééééé"}})
    return replace(finding, request=Request(finding.request.method, longer))


def test_a_cause_that_has_a_vector_gets_no_second_one(
    finding: Finding, reference: Implementation, spec: Spec, tmp_path: Path
) -> None:
    one, other = (found_vector(each, reference.description, spec) for each in (finding, with_longer_text(finding)))
    assert [place.is_new for place in write_found([one], tmp_path).values()] == [True]
    assert [place.id for place in write_found([other], tmp_path).values()] == [one.vector["id"]]
    assert len(load_vectors([tmp_path], spec)) == 1


def test_of_two_vectors_with_one_cause_the_smaller_stays(
    finding: Finding, reference: Implementation, spec: Spec
) -> None:
    small, large = (found_vector(each, reference.description, spec) for each in (finding, with_longer_text(finding)))
    assert merged([large, small]) == [small]


def test_a_found_vector_says_where_it_comes_from(finding: Finding, reference: Implementation, spec: Spec) -> None:
    raw = found_vector(finding, reference.description, spec).vector
    assert schemas.first_error("vector", raw) is None
    assert raw["evidence"]["grade"] == "ours"
    assert raw["provenance"]["property"] == "PROP-TOK-blocks"
    assert raw["provenance"]["implementation"] == "counts-bytes 0.1.0"


def test_a_folder_with_other_files_is_refused(
    finding: Finding, reference: Implementation, spec: Spec, tmp_path: Path
) -> None:
    (tmp_path / "other.json").write_text("[]")
    with pytest.raises(InvalidInput, match="not a vector file"):
        write_found([found_vector(finding, reference.description, spec)], tmp_path)


# ---- the verb --------------------------------------------------------------------------------------------------------

Cli = Callable[..., tuple[int, str]]


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    parser = argparse.ArgumentParser()
    verb.add(parser.add_subparsers())
    monkeypatch.chdir(tmp_path)

    def run_verb(*arguments: str) -> tuple[int, str]:
        options = parser.parse_args(["search", *arguments])
        code = int(options.verb(options))
        return code, capsys.readouterr().out

    return run_verb


def test_a_finding_is_told_with_its_vector_and_how_to_run_it(cli: Cli, tmp_path: Path, spec: Spec) -> None:
    chosen = (
        "--implementation",
        "python:wrong:keeps_all",
        "--only",
        "differential projection/messages",
        "--examples",
        "60",
    )
    code, out = cli(*chosen)
    assert code == 1
    vector = next(one for one in load_vectors([tmp_path / "found"], spec) if one.requirement.id == "PRJ-06")
    assert f"FOUND {vector.id} · PRJ-06" in out
    assert f"\n  asks   {vector.operation}\n" in out
    assert f"--vectors found --only {vector.id}" in out
    assert cli(*chosen)[1].count("a vector of this cause is there") == out.count("FOUND")


def test_nothing_found_is_success(cli: Cli) -> None:
    code, out = cli("--only", "trigger/should_compact", "--examples", "10")
    assert code == 0
    assert "0 causes found, 0 new vectors in found" in out


def test_time_is_bounded(cli: Cli) -> None:
    code, out = cli("--seconds", "1")
    assert code == 0
    assert int(re.search(r", ([0-9]+) s, seed 0", out)[1]) <= 3


def test_several_processes_share_the_hunts_and_the_database(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    base = (
        "--implementation",
        "python:wrong:counts_bytes",
        "--only",
        "PROP-TOK-b*",
        "--examples",
        "60",
    )
    code, out = cli(*base, "-n", "2", "--database", str(tmp_path / "examples"))
    assert code == 1, out
    assert "TOK-07" in out
    assert any((tmp_path / "examples").iterdir())


def test_a_process_that_fails_is_told(cli: Cli) -> None:
    with pytest.raises(InvalidInput, match="cannot import it"):
        cli("--implementation", "python:no_such_module_anywhere", "-n", "2")


@pytest.mark.parametrize("processes", ["1", "2"])
def test_an_adapter_that_does_not_speak_is_the_same_error_in_one_process_and_in_several(
    processes: str, cli: Cli
) -> None:
    with pytest.raises(HandshakeFailed, match="no handshake with false"):
        cli("--implementation", "false", "-n", processes)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--only", "PROP-nothing"), "nothing to search"),
        (("--profile", "harness"), "no search for the profile"),
    ],
)
def test_bad_usage_is_one_message(arguments: tuple[str, ...], told: str, cli: Cli) -> None:
    with pytest.raises(ConformanceError, match=told):
        cli(*arguments)


def test_the_list_tells_every_property(cli: Cli) -> None:
    code, out = cli("--list")
    assert code == 0
    assert all(each.id in out and each.sentence in out for each in all_properties())


# ---- the properties themselves ---------------------------------------------------------------------------------------


def test_a_property_names_rules_and_operations_that_exist(spec: Spec) -> None:
    for each in all_properties():
        assert set(each.requirements) <= set(spec.requirements), each.id
        assert set(each.operations) <= set(schemas.operations()), each.id
        assert spec.requirements[each.requirements[0]].level == "MUST", each.id
        assert each.sentence.endswith("."), each.id
        assert "should" not in each.sentence, each.id


def test_the_page_lists_every_property() -> None:
    page = (Path(__file__).parents[1] / "conformance" / "PROPERTIES.md").read_text(encoding="utf-8")
    for each in all_properties():
        assert f"| `{each.id}` | {each.sentence} | {' '.join(each.requirements)} |" in page, each.id
