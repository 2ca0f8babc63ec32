"""Golden sessions: the files, their recorded answers, and sweeps that find the first wrong one."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from compaction_conformance import schemas, validation
from compaction_conformance.connect import Settings, connect
from compaction_conformance.errors import InvalidInput
from compaction_conformance.expectation import Error, Result
from compaction_conformance.golden import canonical as form
from compaction_conformance.golden import document
from compaction_conformance.golden.canonical import canonical, digest
from compaction_conformance.golden.leeway import has_stray_result
from compaction_conformance.golden.questions import FILE, Point, all_questions
from compaction_conformance.golden.recording import record
from compaction_conformance.golden.sessions import (
    GoldenSession,
    leaves_of,
    listed_entries,
    load_sessions,
    numbered_ids,
    path_of,
)
from compaction_conformance.golden.sweep_run import SweepVector, load_sweeps, run_sweeps, shown_outcome
from compaction_conformance.golden.sweeps import is_open, load_sweep, points_of, sizes_of
from compaction_conformance.paths import fixtures_dir, spec_dir
from compaction_conformance.run import FAILED, NOT_RUN, PASSED, UNSUPPORTED, Outcome
from compaction_conformance.spec import load_spec
from compaction_conformance.terminal import failure_block
from golden_side import side

SPEC = load_spec(spec_dir())
SESSIONS = {session.id: session for session in load_sessions()}
SWEEPS = load_sweeps(SPEC)
_each_session = pytest.mark.parametrize("session", SESSIONS.values(), ids=SESSIONS)

DYING = f"{sys.executable} {Path(__file__).with_name('dying_adapter.py')}"


def sweeps_of(*names: str) -> tuple[SweepVector, ...]:
    return tuple(vector for vector in SWEEPS if vector.session.id in names)


def failures(outcomes: tuple[Outcome, ...]) -> dict[str, Outcome]:
    return {outcome.vector.operation: outcome for outcome in outcomes if outcome.status == FAILED}


# ---- the files -------------------------------------------------------------------------------------------------------


def test_there_are_at_least_25_sessions_of_at_most_3_megabytes() -> None:
    assert len(SESSIONS) >= 25
    assert sum(len(session.content) for session in SESSIONS.values()) < 3_000_000


def test_some_sessions_are_as_long_as_a_day_of_work() -> None:
    assert sum(len(session.entries) > 300 for session in SESSIONS.values()) >= 2


@_each_session
def test_a_session_is_as_strict_as_its_note_says(session: GoldenSession) -> None:
    assert bool(validation.validate_file(session.file, "strict").errors) is not session.strict


@_each_session
def test_a_session_names_known_rules_and_stands_in_the_readme(session: GoldenSession) -> None:
    assert set(session.requirements) <= set(SPEC.requirements)
    readme = (fixtures_dir() / "sessions" / "README.md").read_text(encoding="utf-8")
    assert f"| `{session.id}` | {session.about} |" in readme


def test_a_session_file_without_a_note_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "sessions"
    shutil.copytree(fixtures_dir() / "sessions", folder)
    (folder / "stray.jsonl").write_text("{}\n")
    with pytest.raises(InvalidInput, match=r"stray\.jsonl has no note"):
        load_sessions(folder)
    (folder / "stray.jsonl").unlink()
    (folder / "cjk.jsonl").unlink()
    with pytest.raises(InvalidInput, match=r"cjk\.jsonl is listed and not there"):
        load_sessions(folder)


def test_no_golden_file_is_left_over() -> None:
    golden = fixtures_dir() / "golden"
    assert {path.stem for path in golden.glob("*.json")} == {*SESSIONS, "questions"}
    assert {path.stem for path in (golden / "sweeps").glob("*.json")} == set(SESSIONS)


@_each_session
def test_a_golden_document_names_lines_that_are_there(session: GoldenSession) -> None:
    document.check_entries(session)
    assert listed_entries(session.entries, session.content) == session.golden["parse"]["entries"]
    assert [leaf["leafId"] for leaf in session.golden["leaves"]] == (list(leaves_of(session.entries)) or [None])


@_each_session
def test_a_sweep_visits_every_prefix_and_every_leaf(session: GoldenSession) -> None:
    sweep = load_sweep(session)
    count = len(session.entries)
    if session.sample is None:
        assert {point.length for point in sweep.points} == set(range(count + 1))
    else:
        assert len(sweep.points) >= session.sample
    assert {point.leaf_id for point in sweep.points if point.length == count} >= set(leaves_of(session.entries))
    assert list(sweep.points) == points_of(session, session.entries)
    assert list(sweep.sizes) == sizes_of(session)


@_each_session
def test_a_sweep_has_an_answer_to_every_question(session: GoldenSession) -> None:
    sweep = load_sweep(session)
    assert [question for question, _ in sweep.digests] == list(all_questions())
    for question, row in sweep.digests:
        assert len(row) == len(sweep.sizes if question.takes == FILE else sweep.points)


def test_only_quirks_and_advice_leave_an_answer_open() -> None:
    rows = [row for session in SESSIONS.values() for _, row in load_sweep(session).digests]
    rules = {text for row in rows for text in row if is_open(text)}
    assert rules
    assert all(SPEC.requirements[rule].level in ("QUIRK", "SHOULD") for rule in rules)
    assert sum(vector.left_open for vector in SWEEPS) * 100 < sum(vector.answers for vector in SWEEPS)


def test_every_operation_of_the_questions_is_about_a_rule_of_its_level() -> None:
    for question in all_questions():
        assert SPEC.requirements[question.requirement].level == "MUST"
        assert question.operation in schemas.operations()


@pytest.mark.parametrize("name", ["first-steps", "odd-numbers", "bash-runs", "legacy-v1", "damage-malformed-lines"])
def test_recording_again_changes_no_byte(name: str, tmp_path: Path) -> None:
    shutil.copytree(fixtures_dir() / "sessions", tmp_path / "sessions")
    (tmp_path / "golden" / "sweeps").mkdir(parents=True)
    session = replace(SESSIONS[name], file=tmp_path / "sessions" / f"{name}.jsonl")
    record(side(name="pi"), session)
    for mine, theirs in (
        (session.golden_file, SESSIONS[name].golden_file),
        (session.sweep_file, SESSIONS[name].sweep_file),
    ):
        label = "pi 0.87.0"
        written = re.sub(r'"source": "[^"]*"', f'"source": "{label}"', mine.read_text(encoding="utf-8"), count=1)
        assert written == theirs.read_text(encoding="utf-8")


def test_expected_answers_are_recorded_from_the_oracle_alone(tmp_path: Path) -> None:
    session = replace(SESSIONS["cjk"], file=tmp_path / "sessions" / "cjk.jsonl")
    with pytest.raises(InvalidInput, match="recorded from the oracle"):
        record(side(), session)
    assert not list(tmp_path.rglob("*"))


# ---- the canonical form ----------------------------------------------------------------------------------------------

_NUMBERS = [
    (1.0, "1"),
    (-0.0, "0"),
    (0.1 + 0.2, "0.30000000000000004"),
    (1e21, "1e+21"),
    (1e20, "100000000000000000000"),
    (1e-7, "1e-7"),
    (0.000001, "0.000001"),
    (1.25e-9, "1.25e-9"),
    (5e-324, "5e-324"),
    (9007199254740993, "9007199254740992"),
    (123456789012345678901234567890, "1.2345678901234568e+29"),
    (-1234567890123456, "-1234567890123456"),
    (10**400, "null"),
]


@pytest.mark.parametrize(("number", "text"), _NUMBERS)
def test_numbers_are_written_as_javascript_writes_them(number: float, text: str) -> None:
    assert canonical(number) == text
    assert canonical({"a": [number, "é"]}) == f'{{"a":[{text},"\\u00e9"]}}'


def test_names_are_sorted_by_units() -> None:
    assert canonical({"\uffee": 1, "\U0001f30a": 2, "b": 3, "B": 4}) == ('{"B":4,"b":3,"\\ud83c\\udf0a":2,"\\uffee":1}')


def test_the_short_way_writes_what_the_careful_way_writes() -> None:
    for session in SESSIONS.values():
        for entry in session.entries:
            assert canonical(entry) == form._careful(entry)


def test_the_digest_of_the_readme_is_the_one_that_is_made() -> None:
    readme = (fixtures_dir() / "golden" / "README.md").read_text(encoding="utf-8")
    found = re.search(r"```json\n(.+?)\n```.+?```\n(.+?)\n```.+?`([0-9a-f]{8})`", readme, re.DOTALL)
    assert found is not None
    value = json.loads(found[1])
    assert canonical({"result": value}) == found[2]
    assert digest(Result(value)) == found[3] == hashlib.sha256(found[2].encode()).hexdigest()[:8]


def test_refusals_have_the_same_digest_when_they_are_of_one_kind() -> None:
    assert digest(Error("not_a_session", "one")) == digest(Error("not_a_session", "other"))
    assert digest(Error("not_a_session", "one")) != digest(Error("malformed_input", "one"))


# ---- small things ----------------------------------------------------------------------------------------------------


def test_a_path_with_a_cycle_comes_to_an_end() -> None:
    entries = [{"id": "a", "parentId": "b"}, {"id": "b", "parentId": "a"}]
    assert [entry["id"] for entry in path_of(entries, "b")] == ["a", "b"]


def test_made_ids_are_numbered_and_written_ids_are_not() -> None:
    parsed = {
        "header": {},
        "entries": [{"id": "0a0a0a0a", "parentId": None}, {"id": "ffffffff", "parentId": "0a0a0a0a"}],
        "leafId": "ffffffff",
    }
    content = b'{"id":"0a0a0a0a"}\n'
    numbered = numbered_ids(parsed, content)
    assert [entry["id"] for entry in numbered["entries"]] == ["0a0a0a0a", "#0"]
    assert (numbered["entries"][1]["parentId"], numbered["leafId"]) == ("0a0a0a0a", "#0")


def test_a_stray_result_is_one_without_its_call_before_it() -> None:
    call = {"role": "assistant", "content": [{"type": "toolCall", "id": "c", "name": "ls", "arguments": {}}]}
    result = {"role": "toolResult", "toolCallId": "c", "content": []}
    assert not has_stray_result([call, result])
    assert has_stray_result([result, call])


# ---- documents -------------------------------------------------------------------------------------------------------


def test_a_document_tells_the_first_difference_by_its_pointer() -> None:
    session = SESSIONS["context-edits"]
    wrong = side({"tokens/of_projection": lambda _, answer: {**answer, "tokens": answer["tokens"] + 1}})
    found = document.document_difference(session.golden, document.document(wrong, session))
    assert found is not None
    assert found.pointer == "/leaves/0/tokens/tokens"
    assert found.got == found.want + 1


def test_what_a_document_leaves_open_is_not_compared() -> None:
    session = SESSIONS["bash-runs"]
    opened = [part for part in session.golden["leaves"][0]["preparations"] if "open" in part]
    assert opened

    def unsent(params: Any, answer: Any) -> Any:
        """The size when a hidden run weighs nothing: another reading of PRE-33."""
        if answer["preparation"]:
            answer["preparation"]["tokensBefore"] -= 1
        return answer

    got = document.document(side({"compaction/prepare": unsent}), session)
    found = document.document_difference(session.golden, got)
    closed = [
        part for part in session.golden["leaves"][0]["preparations"] if "open" not in part and part["preparation"]
    ]
    assert (found is None) is not bool(closed)


def test_an_implementation_that_answers_nonsense_gives_a_document_that_differs() -> None:
    session = SESSIONS["first-steps"]
    for answer in (None, [], {"entries": 3}, {"messages": "no"}):
        wrong = side({name: lambda _, __, a=answer: a for name in ("projection/messages", "projection/sources")})
        assert document.document_difference(session.golden, document.document(wrong, session)) is not None
    wrong = side({"session/parse": lambda _, __: "no"})
    assert document.document_difference(session.golden, document.document(wrong, session)) is not None


# ---- sweeps ----------------------------------------------------------------------------------------------------------


def test_the_reference_passes_the_sweep_of_a_session_with_everything() -> None:
    vectors = sweeps_of("recoveries", "legacy-v1", "damage-duplicate-ids")
    outcomes = run_sweeps([side()], vectors)
    assert [outcome.status for outcome in outcomes] == [PASSED] * len(vectors)
    assert [outcome.vector.id for outcome in outcomes] == [vector.id for vector in vectors]


def test_a_sweep_tells_the_first_entry_at_which_an_answer_is_wrong() -> None:
    """The fault: a compaction that keeps entries is taken for one that keeps none."""
    session = SESSIONS["compaction-chain"]

    def forgetful(params: Any, answer: Any) -> Any:
        path = path_of(params["entries"], params["leafId"])
        if any(entry["type"] == "compaction" for entry in path):
            return {"messages": answer["messages"][:2]}
        return answer

    found = failures(run_sweeps([side({"projection/messages": forgetful})], sweeps_of(session.id)))
    assert set(found) == {"projection/messages"}
    outcome = shown_outcome(found["projection/messages"])
    first = next(index + 1 for index, entry in enumerate(session.entries) if entry["type"] == "compaction")
    assert len(outcome.vector.params["entries"]) == first
    assert outcome.verdict.failure == "mismatch"
    assert outcome.verdict.difference is not None
    assert (
        f"first divergence at entry {first} ({session.entries[first - 1]['id']}, compaction)"
        in outcome.verdict.difference.note
    )
    assert outcome.verdict.difference.pointer == "/messages/2"
    block = failure_block(outcome, "odd 1", "odd", None)
    assert "FAIL SWEEP-compaction-chain-projection-messages · PRJ-01" in block
    assert "whose digest is the recorded one" in block


def test_a_wrong_projection_does_not_spoil_the_questions_about_messages() -> None:
    found = failures(run_sweeps([side({"projection/messages": lambda _, __: {"messages": []}})], sweeps_of("cjk")))
    assert set(found) == {"projection/messages"}


def test_messages_are_asked_about_without_a_projection_of_its_own() -> None:
    outcomes = run_sweeps([side(without=["projection/messages"])], sweeps_of("extensions"))
    by_operation = {outcome.vector.operation: outcome.status for outcome in outcomes}
    assert by_operation.pop("projection/messages") == UNSUPPORTED
    assert set(by_operation.values()) == {PASSED}


def test_a_wrong_conversion_is_found_by_its_messages() -> None:
    def louder(params: Any, answer: Any) -> Any:
        return {
            "messages": [
                {**message, "role": "user"} if message["role"] == "system" else message
                for message in answer["messages"]
            ]
        }

    found = failures(run_sweeps([side({"messages/to_llm": louder})], sweeps_of("extensions")))
    outcome = shown_outcome(found["messages/to_llm"])
    assert outcome.verdict.difference is not None
    assert "first divergence at entry 2" in outcome.verdict.difference.note


def test_a_wrong_parse_tells_the_bytes() -> None:
    def without_last(params: Any, answer: Any) -> Any:
        return {**answer, "entries": answer["entries"][:-1]}

    found = failures(run_sweeps([side({"session/parse": without_last})], sweeps_of("legacy-v1")))
    outcome = shown_outcome(found["session/parse"])
    assert outcome.verdict.difference is not None
    assert re.match(r"first divergence at [0-9]+ bytes", outcome.verdict.difference.note)
    assert outcome.verdict.difference.pointer == "/entries/0"


def test_an_answer_that_breaks_an_invariant_is_told_so() -> None:
    fault = {"tokens/of_projection": lambda _, answer: {**answer, "tokens": answer["tokens"] + 1}}
    found = failures(run_sweeps([side(fault)], sweeps_of("first-steps")))
    outcome = shown_outcome(found["tokens/of_projection"])
    assert outcome.verdict.difference is not None
    assert "not the sum of usage and rest" in outcome.verdict.difference.note


@pytest.mark.parametrize("answer", [None, 3, "text", [], {}, {"messages": {}}, {"messages": [[[1]]]}])
def test_nonsense_is_a_failure_and_never_a_traceback(answer: Any) -> None:
    operations = {vector.operation for vector in SWEEPS}
    wrong = side({name: lambda _, __: answer for name in operations})
    outcomes = run_sweeps([wrong], sweeps_of("context-edits"))
    assert {outcome.status for outcome in outcomes} == {FAILED}
    for outcome in outcomes:
        assert failure_block(shown_outcome(outcome), "odd 1", "odd", None)


def test_errors_are_unexpected_where_a_result_is_due() -> None:
    def refuse(params: Any, answer: Any) -> Any:
        raise ValueError("no idea")

    found = failures(run_sweeps([side({"session/tree": refuse})], sweeps_of("cjk")))
    assert found["session/tree"].verdict.failure == "unexpected_error"


def test_an_open_answer_may_be_any_answer_but_has_to_come() -> None:
    """Of TOK-22 another reading is taken wherever it decides; the sweep does not mind."""
    session = SESSIONS["bash-runs"]
    sweep = load_sweep(session)
    question, row = next((q, row) for q, row in sweep.digests if q.operation == "tokens/of_projection")
    opened = {point for point, text in zip(sweep.points, row, strict=True) if is_open(text)}
    assert opened

    def unsent(params: Any, answer: Any) -> Any:
        if Point(len(params["entries"]), params["leafId"]) in opened:
            return {**answer, "tokens": answer["tokens"] - 1, "trailingTokens": answer["trailingTokens"] - 1}
        return answer

    assert not failures(run_sweeps([side({question.operation: unsent})], sweeps_of(session.id)))

    def silent(params: Any, answer: Any) -> Any:
        if Point(len(params["entries"]), params["leafId"]) in opened:
            raise SystemExit(3)
        return answer

    found = failures(run_sweeps([side({question.operation: silent})], sweeps_of(session.id)))
    assert found[question.operation].verdict.failure == "exited"


def test_an_adapter_that_dies_too_often_leaves_the_rest_unasked(tmp_path: Path) -> None:
    adapter = connect(DYING, Settings(restarts=2))
    outcomes = run_sweeps([adapter], sweeps_of("first-steps", "cjk"))
    adapter.close()
    assert {outcome.status for outcome in outcomes} == {FAILED, NOT_RUN}


def test_several_processes_share_the_sessions() -> None:
    vectors = sweeps_of("first-steps", "cjk", "several-roots", "images")
    sides = [connect("reference", Settings(own_process=True)) for _ in range(2)]
    outcomes = run_sweeps(sides, vectors)
    for each in sides:
        each.close()
    assert [outcome.vector.id for outcome in outcomes] == [vector.id for vector in vectors]
    assert {outcome.status for outcome in outcomes} == {PASSED}
