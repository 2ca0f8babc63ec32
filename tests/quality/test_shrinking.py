"""Examples shrink to sessions that a person can read: the smallest session that shows something has as few entries
as it needs, with short ids, short texts and times in order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, find, settings
from hypothesis.strategies import SearchStrategy

from compaction_conformance.connect import Settings, connect
from compaction_conformance.implementation import Implementation
from compaction_conformance.in_process import InProcess
from compaction_conformance.properties import Ask, Property, Violation, all_properties
from compaction_conformance.strategies import (
    Session,
    conversations,
    damaged_contents,
    damaged_entries,
    scenarios,
    sessions,
    texts,
)
from compaction_conformance.strategies.building import outline

_FIXED = settings(
    max_examples=3000, derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck)
)


def smallest(strategy: SearchStrategy[Any], shows: Callable[[Any], bool]) -> Any:
    return find(strategy, shows, settings=_FIXED)


def types(session: Session) -> list[str]:
    return [entry["type"] for entry in session.entries]


def _branches(session: Session) -> bool:
    parents = [entry["parentId"] for entry in session.entries if entry["parentId"]]
    return len(set(parents)) < len(parents)


def _calls(session: Session, count: int) -> bool:
    results = [e for e in session.entries if e.get("message", {}).get("role") == "toolResult"]
    return len(results) >= count


def _two_roots(session: Session) -> bool:
    return len(session.entries) > 1 and session.entries[-1]["parentId"] is None


def _keeps_a_user(session: Session) -> bool:
    return any(entry.get("firstKeptEntryId") == "u1" for entry in session.entries)


WANTED: list[tuple[str, Callable[[Session], bool], int]] = [
    ("anything", lambda s: bool(s.entries), 1),
    ("a branch", _branches, 3),
    ("two roots", _two_roots, 3),
    ("a compaction that keeps", _keeps_a_user, 3),
    ("an edit", lambda s: "context_edit" in types(s), 2),
    ("parallel calls", lambda s: _calls(s, 2), 3),
    ("two compactions", lambda s: types(s).count("compaction") == 2, 3),
]


@pytest.mark.parametrize(("shows", "count"), [row[1:] for row in WANTED], ids=[row[0] for row in WANTED])
def test_a_session_shrinks_to_what_it_shows(shows: Callable[[Session], bool], count: int) -> None:
    found = smallest(sessions(5), shows)
    assert len(found.entries) <= count, outline(found.entries)
    assert all(len(entry["id"]) == 2 for entry in found.entries)
    assert len(outline(found.entries)) < 30 * count


def test_texts_shrink_to_a_and_times_stay_in_order() -> None:
    def three_said_something(session: Session) -> bool:
        return sum(entry.get("message", {}).get("role") == "user" for entry in session.entries) == 3

    found = smallest(sessions(5), three_said_something)
    assert [entry["message"]["content"] for entry in found.entries] == ["a", "a", "a"]
    times = [entry["timestamp"] for entry in found.entries]
    assert times == ["2025-01-01T00:00:01.000Z", "2025-01-01T00:00:02.000Z", "2025-01-01T00:00:03.000Z"]
    assert [entry["message"]["timestamp"] % 60_000 for entry in found.entries] == [1000, 2000, 3000]


def test_a_text_keeps_the_one_letter_that_matters() -> None:
    assert smallest(texts(), lambda text: not text.isascii()) == "é"
    assert smallest(texts(), lambda text: len(text.encode("utf-16-le")) > 2 * len(text)) == "😀"
    assert smallest(texts(), lambda text: len(text) > 5) == "aaaaaa"


def test_a_conversation_keeps_the_call_that_matters() -> None:
    found = smallest(conversations(4), lambda talk: any(message["role"] == "toolResult" for message in talk))
    assert [message["role"] for message in found] == ["assistant", "toolResult"]
    assert found[0]["content"][0]["arguments"] == {"path": "a"}


def test_damage_stays_alone() -> None:
    strange = smallest(
        damaged_entries("unknown type", max_size=4), lambda one: any(e["type"] == "hologram" for e in one.entries)
    )
    assert outline(strange.entries) == "u1 hologram"
    torn = smallest(damaged_contents(3), lambda damaged: not damaged.content.endswith("\n"))
    assert torn.session.entries == ()
    assert torn.content.endswith("\n{")


def test_a_scenario_keeps_the_reply_that_matters() -> None:
    found = smallest(scenarios(), lambda scenario: any("error" in reply for reply in scenario["replies"]))
    assert found["steps"] == [{"do": "prompt", "text": "a"}]
    assert len(found["replies"]) == 1


# ---- the smallest session that breaks a property ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def by_id() -> dict[str, Property]:
    return {each.id: each for each in all_properties()}


class Changed:
    """The reference, save that one operation goes through a function: (params, right answer) → answer."""

    def __init__(self, operation: str, change: Callable[[Any, Any], Any]) -> None:
        self._operation, self._change = operation, change
        self._right = connect("reference", Settings())

    def describe(self) -> Any:
        from compaction_reference import operations

        return operations.describe()

    def call(self, method: str, params: Any) -> Any:
        from compaction_reference import operations

        right = operations.call(method, params)
        return self._change(params, right) if method == self._operation else right


def breaks(each: Property, side: Implementation) -> Callable[[Any], bool]:
    def shows(example: Any) -> bool:
        try:
            each.examine(Ask(side), example)
        except Violation:
            return True
        return False

    return shows


def _reversed_kept(params: Any, right: Any) -> Any:
    return {"messages": [*right["messages"][:1], *right["messages"][:0:-1]]} if right["messages"] else right


def _forgets_edits(params: Any, right: Any) -> Any:
    from compaction_reference import operations

    plain = [e if e["type"] != "context_edit" else {**e, "type": "custom"} for e in params["entries"]]
    return operations.call("projection/messages", {**params, "entries": plain})


def _forgets_parents(params: Any, right: Any) -> Any:
    return {"entries": [entry for entry in params["entries"] if params["leafId"] is not None]}


SMALLEST = [
    ("PROP-PRJ-plain", "projection/messages", _reversed_kept, 3),
    ("PROP-PRJ-edit-omits", "projection/messages", _forgets_edits, 1),
    ("PROP-TRE-path", "session/path", _forgets_parents, 2),
]


@pytest.mark.parametrize(("name", "operation", "change", "entries"), SMALLEST, ids=[row[0] for row in SMALLEST])
def test_the_smallest_session_that_breaks_a_property_is_that_small(
    name: str, operation: str, change: Callable[[Any, Any], Any], entries: int, by_id: dict[str, Property]
) -> None:
    side = InProcess(Changed(operation, change), edition="pi-0.87", profile="coding-agent")
    found = smallest(by_id[name].given, breaks(by_id[name], side))
    session = found[0] if isinstance(found, tuple) else found
    assert len(session.entries) == entries
