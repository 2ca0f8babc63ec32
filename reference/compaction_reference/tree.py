"""Entries as a tree (chapter TRE): ids, paths, roots, children, labels, the name of the session.

Every entry names its parent; a file can hold several roots and branches. The leaf says which path is the conversation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from .dates import milliseconds
from .ecma import map_key, members, string, trim, truthy
from .errors import malformed
from .types import LAST, Entry, Json, Leaf

Index: TypeAlias = Mapping[Any, Entry]


def index_by_id(entries: Sequence[Entry]) -> dict[Any, Entry]:
    """Entries by id. Where an id occurs twice, the later line has it."""
    return {map_key(members(entry).get("id")): entry for entry in entries}


def opening_leaf(entries: Sequence[Entry]) -> Json:
    """`leafId` of a freshly opened file: the id of its last entry, `None` in an empty file; absent where the last line
    of the file has no id."""
    if not entries:
        return {"leafId": None}
    last = members(entries[-1])
    return {"leafId": last["id"]} if "id" in last else {}


def path_of(entries: Sequence[Entry], leaf: Leaf = LAST) -> list[Entry]:
    """The entries from the root to the leaf. A leaf that no entry has gives an empty path."""
    index = index_by_id(entries)
    leaf_id = opening_leaf(entries).get("leafId") if leaf is LAST else leaf
    entry = index.get(map_key(leaf_id)) if truthy(leaf_id) else None
    return [] if entry is None else path_to(entry, index)


def path_to(entry: Entry, index: Index) -> list[Entry]:
    """The path that ends in the given entry. It begins where a parent is missing, whatever the reason: none is named,
    no entry has the id, or (a rule of ours: Pi never comes back) the parent is on the path already."""
    path = [entry]
    on_path = {id(entry)}
    while True:
        parent_id = members(path[-1]).get("parentId")
        parent = index.get(map_key(parent_id)) if truthy(parent_id) else None
        if parent is None or id(parent) in on_path:
            break
        path.append(parent)
        on_path.add(id(parent))
    path.reverse()
    return path


def tree(entries: Sequence[Entry]) -> Json:
    """`roots` (ids, in file order), `children` (ids under the id of their parent, oldest first), `labels` (their text
    by target) and `name`. A root has no parent, an unknown one, or itself. An id that occurs twice stands twice in its
    list. What no root leads to, as entries that are each other's ancestors, is not shown."""
    index = index_by_id(entries)
    roots: list[Any] = []
    children: dict[Any, list[Any]] = {}
    for entry in entries:
        own_id, parent_id = members(entry).get("id"), members(entry).get("parentId")
        if parent_id is None or map_key(parent_id) == map_key(own_id) or map_key(parent_id) not in index:
            roots.append(own_id)
        else:
            children.setdefault(map_key(parent_id), []).append(own_id)
    shown = _shown(roots, children, index)
    return {
        "roots": roots,
        "children": {string(parent): below for parent, below in shown.items() if below},
        "labels": {string(target): entry["label"] for target, entry in labels(entries).items() if target in shown},
        "name": session_name(entries),
    }


def _shown(roots: Sequence[Any], children: dict[Any, list[Any]], index: Index) -> dict[Any, list[Any]]:
    """For every id that a root leads to, the ids of its children by time. Depth is no limit: there is no recursion."""
    shown: dict[Any, list[Any]] = {}
    waiting = list(roots)
    while waiting:
        parent_id = map_key(waiting.pop())
        if parent_id not in shown:
            below = children.get(parent_id, [])
            shown[parent_id] = sorted(below, key=lambda child_id: _time_of(index[map_key(child_id)]))
            waiting.extend(below)
    return shown


def _time_of(entry: Entry) -> float:
    return milliseconds(members(entry).get("timestamp", float("nan")))


def labels(entries: Sequence[Entry]) -> dict[Any, Entry]:
    """The label entry in force for each target that has one: the last in the file, on any branch. One without text
    takes the label away. Targets come in the order in which they were labelled."""
    in_force: dict[Any, Entry] = {}
    for entry in entries:
        own = members(entry)
        if own.get("type") != "label":
            continue
        target = map_key(own.get("targetId"))
        if truthy(own.get("label")):
            in_force[target] = entry
        else:
            in_force.pop(target, None)
    return in_force


def session_name(entries: Sequence[Entry]) -> str | None:
    """The last name that the file gives, on any branch; an empty one means that there is none."""
    for entry in reversed(entries):
        if members(entry).get("type") == "session_info":
            name = members(entry).get("name")
            if name is None:
                return None
            if not isinstance(name, str):
                raise malformed("a session name that is no text")
            return trim(name) or None
    return None
