"""The fold visits only what it needs, and nothing it is given changes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from compaction_reference.preparation import prepare
from compaction_reference.projection import fold, project, walk_from
from compaction_reference.tree import walk_of
from compaction_reference.types import LAST

AT = "2025-01-01T00:00:00.000Z"


def chain(*drafts: dict[str, Any]) -> list[dict[str, Any]]:
    """The drafts as entries e0, e1, … of one path."""
    return [
        {**draft, "id": f"e{n}", "parentId": f"e{n - 1}" if n else None, "timestamp": AT}
        for n, draft in enumerate(drafts)
    ]


def user(text: str) -> dict[str, Any]:
    return {"type": "message", "message": {"role": "user", "content": text, "timestamp": 1}}


def reply(text: str) -> dict[str, Any]:
    content = [{"type": "text", "text": text}]
    return {
        "type": "message",
        "message": {"role": "assistant", "content": content, "stopReason": "stop", "timestamp": 1},
    }


def compaction(first_kept: str) -> dict[str, Any]:
    return {"type": "compaction", "summary": "S", "firstKeptEntryId": first_kept, "tokensBefore": 9}


def test_the_walk_stops_at_the_first_kept_entry() -> None:
    visited: list[str] = []

    def watched(walk: Iterator[Any]) -> Iterator[Any]:
        for entry in walk:
            visited.append(entry["id"])
            yield entry

    entries = chain(user("a"), user("b"), user("c"), compaction("e2"), user("d"))
    folded = fold(watched(walk_of(entries)))
    assert [entry["id"] for entry in folded.entries] == ["e3", "e2", "e4"]
    assert visited == ["e4", "e3", "e2"]


def test_nothing_is_kept_where_the_first_kept_entry_is_not_met() -> None:
    folded = fold(walk_of(chain(user("a"), compaction("nope"), user("b"))))
    assert [entry["id"] for entry in folded.entries] == ["e1", "e2"]


def test_since_tells_where_the_compaction_ends() -> None:
    entries = chain(user("a"), user("b"), compaction("e1"), user("c"))
    projection = project(walk_from(entries, LAST))
    assert [entry.source["id"] for entry in projection.entries[projection.since :]] == ["e3"]
    assert project(walk_from(entries, "e1")).since == 0


def test_input_is_not_changed() -> None:
    entries = chain(
        user("a" * 40),
        reply("b" * 40),
        {"type": "context_edit", "targetId": "e1", "replacement": {"content": "x"}},
        user("c"),
    )
    entries[0]["message"]["content"] = None
    entries[0]["unknown"] = {"kept": True}
    before = deepcopy(entries)
    project(walk_from(entries, LAST))
    prepare(entries, LAST, {"enabled": True, "reserveTokens": 1, "keepRecentTokens": 1})
    assert entries == before


def test_an_unchanged_message_is_the_stored_one() -> None:
    entries = chain(user("a"))
    assert project(walk_from(entries, LAST)).messages[0] is entries[0]["message"]


def test_a_repaired_message_shares_nothing_with_the_next_one() -> None:
    entries = chain(user("a"), user("b"))
    for entry in entries:
        del entry["message"]["content"]
    first, second = project(walk_from(entries, LAST)).messages
    first["content"].append("changed")
    assert json.dumps(second["content"]) == "[]"
