"""Paths near the leaf and through damage."""

from __future__ import annotations

from typing import Any

import pytest

from compaction_reference.errors import Refusal
from compaction_reference.tree import Index, index_by_id, opening_leaf, path_of, tree

AT = "2025-01-01T00:00:00.000Z"


def entry(entry_id: Any, parent_id: Any, at: str = AT) -> dict[str, Any]:
    return {"type": "custom", "id": entry_id, "parentId": parent_id, "timestamp": at}


def ids(entries: list[Any]) -> list[Any]:
    return [each["id"] for each in entries]


def test_an_index_reads_no_further_back_than_it_is_asked() -> None:
    entries: list[Any] = [None, entry("a", None), entry("b", "a")]
    index = Index(entries)
    assert index.find("a") is entries[1]
    with pytest.raises(Refusal):
        index.find("unknown")


def test_an_index_and_the_whole_table_agree() -> None:
    entries = [entry("a", None), entry("b", "a"), entry("a", "b"), entry(1, "a"), entry("", None)]
    whole, index = index_by_id(entries), Index(entries)
    assert all(index.find(key) is whole[key] for key in ("a", "b", 1))
    assert index.find("") is None
    assert index.find(["a"]) is None


@pytest.mark.parametrize(
    ("entries", "path"),
    [
        ([entry("a", "a")], ["a"]),
        ([entry("a", "b"), entry("b", "a")], ["a", "b"]),
        ([entry("a", None), entry("b", "a"), entry("a", "b"), entry("c", "b")], ["a", "b", "c"]),
    ],
)
def test_a_cycle_of_parents_ends_where_it_closes(entries: list[Any], path: list[str]) -> None:
    assert ids(path_of(entries)) == path


def test_a_parent_may_stand_behind_its_child() -> None:
    assert ids(path_of([entry("b", "a"), entry("a", None)], "b")) == ["a", "b"]


def test_the_leaf_is_absent_where_the_last_line_has_no_id() -> None:
    assert opening_leaf([]) == {"leafId": None}
    assert opening_leaf([entry("a", None), 42]) == {}
    assert opening_leaf([entry("a", None)]) == {"leafId": "a"}


def test_depth_is_no_limit_for_a_tree() -> None:
    entries = [entry(f"e{n}", f"e{n - 1}" if n else None) for n in range(5_000)]
    assert len(tree(entries)["children"]) == 4_999


def test_doubled_ids_do_not_keep_a_tree_from_ending() -> None:
    entries = [entry("a", None), entry("b", "a"), entry("c", "b"), entry("b", "c")]
    shown = tree(entries)
    assert shown["roots"] == ["a"]
    assert shown["children"]["a"] == ["b"]
