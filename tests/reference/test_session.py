"""Appending and forking where a whole request shows too little."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest

from compaction_reference.errors import Refusal
from compaction_reference.session import Makers, Session, check_session_id, fork

AT = "2025-01-01T00:00:05.000Z"


def user(entry_id: str, parent_id: str | None) -> dict[str, Any]:
    message = {"role": "user", "content": entry_id, "timestamp": 1}
    return {"type": "message", "id": entry_id, "parentId": parent_id, "timestamp": AT, "message": message}


def label(entry_id: str, parent_id: str, target: str, text: str) -> dict[str, Any]:
    return {"type": "label", "id": entry_id, "parentId": parent_id, "timestamp": AT, "targetId": target, "label": text}


def makers(*ids: str) -> Makers:
    supply: Iterator[str] = iter(ids)
    return Makers(lambda: next(supply), lambda: AT)


def test_an_id_that_is_taken_is_made_again() -> None:
    session = Session([user("a", None)], makers=makers("a", "a", "b"))
    assert session.append({"type": "custom", "customType": "x"})["id"] == "b"


def test_after_a_hundred_taken_ids_a_long_one_is_made() -> None:
    session = Session([user("a", None)], makers=Makers(lambda: "a", lambda: AT))
    assert len(session.append({"type": "custom", "customType": "x"})["id"]) == 36


def test_a_refused_append_changes_nothing() -> None:
    session = Session([user("a", None)], makers=makers("b", "c"))
    with pytest.raises(Refusal):
        session.append({"type": "label", "targetId": "nope", "label": "x"})
    assert session.leaf == {"leafId": "a"}
    assert len(session.entries) == 1


def test_the_callers_list_is_left_alone() -> None:
    entries = [user("a", None)]
    before = deepcopy(entries)
    Session(entries).append({"type": "context_edit", "targetId": "a", "replacement": {"content": "new"}})
    assert entries == before


def test_a_snapshot_has_the_time_of_its_compaction() -> None:
    system = {"role": "system", "content": "P", "timestamp": 1}
    start = {"type": "message", "id": "s", "parentId": None, "timestamp": AT, "message": system}
    session = Session([start], makers=makers("c"))
    entry = session.append({"type": "compaction", "summary": "S", "firstKeptEntryId": None, "tokensBefore": 1})
    assert entry["firstKeptEntryId"] == "c"
    assert entry["systemMessage"] == {"role": "system", "content": "P", "timestamp": 1735689605000}


def test_a_fork_writes_labels_anew_and_moves_what_named_them() -> None:
    compaction = {"type": "compaction", "id": "c", "parentId": "b", "timestamp": AT, "summary": "S"}
    entries = [
        user("a", None),
        label("l", "a", "a", "first"),
        user("b", "l"),
        compaction | {"firstKeptEntryId": "l", "tokensBefore": 1},
    ]
    forked = fork(entries, "c", makers("new"))
    assert [(entry["id"], entry["parentId"]) for entry in forked] == [("a", None), ("b", "a"), ("c", "b"), ("new", "c")]
    assert forked[2]["firstKeptEntryId"] == "b"
    assert (forked[3]["targetId"], forked[3]["label"], forked[3]["timestamp"]) == ("a", "first", AT)


@pytest.mark.parametrize("session_id", ["a", "a.b_c-9", "A1"])
def test_ids_that_a_session_can_take(session_id: str) -> None:
    check_session_id(session_id)


@pytest.mark.parametrize("session_id", ["", "-a", "a-", "a b", "a/b", "ä", "a\n"])
def test_ids_that_a_session_cannot_take(session_id: str) -> None:
    with pytest.raises(Refusal) as refusal:
        check_session_id(session_id)
    assert refusal.value.kind == "invalid_session_id"
