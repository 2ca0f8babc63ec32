"""Variants: each one changes a session, the reference bears all of them, and a fault made for each is found by it."""

from __future__ import annotations

import base64
import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

from compaction_conformance.golden.sessions import load_sessions
from compaction_conformance.golden.sweep_run import shown_outcome
from compaction_conformance.golden.variant_changes import State, rename_ids, renamed_answer
from compaction_conformance.golden.variant_run import load_variants, run_variants
from compaction_conformance.golden.variants import FILE_VARIANTS, STATE_VARIANTS, states_of
from compaction_conformance.paths import fixtures_dir, spec_dir
from compaction_conformance.run import FAILED, PASSED, UNSUPPORTED, Outcome
from compaction_conformance.spec import load_spec
from compaction_conformance.terminal import failure_block
from compaction_reference import operations
from golden_side import side

SPEC = load_spec(spec_dir())
SESSIONS = load_sessions()
VECTORS = load_variants(SPEC)
NAMES = ("context-edits", "damage-crlf", "several-roots", "extensions")
SOME = tuple(session for session in SESSIONS if session.id in NAMES)


def failed(faults: dict[str, Callable[[Any, Any], Any]]) -> dict[str, Outcome]:
    outcomes = run_variants([side(faults)], VECTORS, sessions=SOME)
    return {outcome.vector.id: outcome for outcome in outcomes if outcome.status == FAILED}


def test_the_reference_bears_every_variant() -> None:
    outcomes = run_variants([side()], VECTORS, sessions=SOME)
    assert [outcome.status for outcome in outcomes] == [PASSED] * len(VECTORS)


@pytest.mark.parametrize("variant", STATE_VARIANTS, ids=lambda variant: variant.name)
def test_a_variant_of_a_state_changes_it_and_leaves_the_original_alone(variant: Any) -> None:
    for session in SESSIONS:
        for state in states_of(session):
            before = copy.deepcopy(state)
            changed = variant.change(state)
            assert json.dumps([*state.entries]) == json.dumps([*before.entries])
            assert json.dumps([*changed.entries]) != json.dumps([*state.entries])


@pytest.mark.parametrize("variant", FILE_VARIANTS, ids=lambda variant: variant.name)
def test_a_variant_of_a_file_changes_most_files(variant: Any) -> None:
    changed = sum(variant.change(session.content) != session.content for session in SESSIONS)
    assert changed >= len(SESSIONS) - 4  # some files lack the last line feed, or have carriage returns already


def test_every_variant_and_operation_is_described() -> None:
    readme = (fixtures_dir() / "golden" / "README.md").read_text(encoding="utf-8")
    for variant in (*STATE_VARIANTS, *FILE_VARIANTS):
        assert f"| `{variant.name}` |" in readme
        assert variant.requirement in SPEC.requirements


def test_renaming_is_one_to_one_and_reaches_a_tree() -> None:
    entries = [{"id": "a", "parentId": None}, {"id": "b", "parentId": "a", "targetId": "a"}]
    state = State(entries, "b")
    names = [entry["id"] for entry in rename_ids(state).entries]
    assert len(set(names)) == 2
    tree = {"roots": ["a"], "children": {"a": ["b"]}, "labels": {"a": "x"}, "name": None}
    expected = {"roots": [names[0]], "children": {names[0]: [names[1]]}, "labels": {names[0]: "x"}, "name": None}
    assert renamed_answer(tree, state) == expected


# ---- a fault for each variant ----------------------------------------------------------------------------------------


def _weighs_ids(params: Any, answer: Any) -> Any:
    return {**answer, "tokens": answer["tokens"] + sum(len(entry["id"]) for entry in params["entries"])}


def _forgets_old_times(params: Any, answer: Any) -> Any:
    return {"messages": [message for message in answer["messages"] if message["timestamp"] % 2]}


def _reads_the_first_member(params: Any, answer: Any) -> Any:
    in_order = all(next(iter(entry)) == "type" for entry in params["entries"])
    return answer if in_order else {"messages": []}


def _weighs_members(params: Any, answer: Any) -> Any:
    return {**answer, "tokens": sum(len(json.dumps(entry)) for entry in params["entries"])}


def _takes_file_order_for_the_path(params: Any, answer: Any) -> Any:
    chained = [{**entry, "parentId": above} for entry, above in _with_entry_before(params["entries"])]
    return operations.call("projection/messages", {"entries": chained})


def _with_entry_before(entries: Any) -> Any:
    return zip(entries, [None, *(entry["id"] for entry in entries[:-1])], strict=True)


def _text(params: Any) -> str:
    return base64.b64decode(params["contentBase64"]).decode("utf-8", "replace")


def _minds_carriage_returns(params: Any, answer: Any) -> Any:
    return {**answer, "entries": []} if "\r\n" in _text(params) else answer


def _needs_a_last_line_feed(params: Any, answer: Any) -> Any:
    return answer if _text(params).endswith("\n") else {**answer, "entries": answer["entries"][:-1]}


def _stops_at_a_blank_line(params: Any, answer: Any) -> Any:
    return {**answer, "entries": []} if "\n\n" in _text(params) else answer


@pytest.mark.parametrize(
    ("variant", "operation", "fault"),
    [
        ("ids-renamed", "tokens/of_projection", _weighs_ids),
        ("times-shifted", "projection/messages", _forgets_old_times),
        ("members-reordered", "projection/messages", _reads_the_first_member),
        ("unknown-members", "tokens/of_projection", _weighs_members),
        ("branch-beside", "projection/messages", _takes_file_order_for_the_path),
        ("crlf", "session/parse", _minds_carriage_returns),
        ("no-last-line-feed", "session/parse", _needs_a_last_line_feed),
        ("blank-lines", "session/parse", _stops_at_a_blank_line),
    ],
)
def test_a_fault_is_found_by_the_variant_that_is_made_for_it(
    variant: str, operation: str, fault: Callable[[Any, Any], Any]
) -> None:
    found = failed({operation: fault})
    name = f"VARIANT-{variant}-{operation.replace('/', '-')}"
    assert name in found
    outcome = shown_outcome(found[name])
    assert outcome.verdict.difference is not None
    assert "first seen in the session " in outcome.verdict.difference.note
    assert f"its variant {variant} do not agree" in failure_block(outcome, "odd 1", "odd", None)


@pytest.mark.parametrize("answer", [None, 3, "text", [], {}, {"messages": {}}, {"entries": [1]}, {"roots": 1}])
def test_nonsense_that_is_always_the_same_gives_no_traceback(answer: Any) -> None:
    faults = {vector.operation: lambda _, __: answer for vector in VECTORS}
    for outcome in failed(faults).values():
        assert failure_block(shown_outcome(outcome), "odd 1", "odd", None)


def test_an_error_that_depends_on_ids_is_found() -> None:
    def picky(params: Any, answer: Any) -> Any:
        if any(entry["id"].startswith("r-") for entry in params["entries"]):
            raise KeyError("r-")
        return answer

    found = failed({"session/tree": picky})
    assert found["VARIANT-ids-renamed-session-tree"].verdict.failure == "unexpected_error"


def test_an_error_without_a_refusal_agrees_with_nothing() -> None:
    def fail(_: Any, __: Any) -> Any:
        raise ZeroDivisionError

    outcome = failed({"session/tree": fail})["VARIANT-ids-renamed-session-tree"]
    assert outcome.verdict.failure == "mismatch"
    assert failure_block(shown_outcome(outcome), "odd 1", "odd", None)


def test_what_is_not_declared_is_not_asked() -> None:
    outcomes = run_variants([side(without=["session/parse"])], VECTORS, sessions=SOME[:1])
    by_operation = {outcome.vector.operation: outcome.status for outcome in outcomes}
    assert by_operation.pop("session/parse") == UNSUPPORTED
    assert set(by_operation.values()) == {PASSED}
