"""Entries as a tree (chapter TRE): ids, paths, roots, children, labels, the name of the session.

Every entry names its parent; a file can hold several roots and branches. The leaf says which path is the conversation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .dates import milliseconds
from .ecma import map_key, members, string, trim, truthy
from .errors import malformed
from .types import LAST, Entry, Json, Leaf


def index_by_id(entries: Sequence[Entry]) -> dict[Any, Entry]:
    """Entries by id, which is text or (in odd files) a number. Where an id occurs twice, the later line has it.
    (TRE-09, TRE-10, TRE-11)"""
    index: dict[Any, Entry] = {}
    for entry in entries:
        own_id = members(entry).get("id")
        if isinstance(own_id, (str, int, float)):
            index[own_id] = entry
    return index


class Index:
    """The same, for those who ask near the leaf: the entries are read from the last one back, and only as far as they
    are asked for. So a long file costs no more than the part of it that matters."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._unread = reversed(entries)
        self._by_id: dict[Any, Entry] = {}

    def find(self, entry_id: Any) -> Entry | None:
        """The entry with an id, `None` if there is none. Nothing is found under `""` or 0."""
        if not (entry_id and isinstance(entry_id, (str, int, float))):
            return None
        while entry_id not in self._by_id and self._read_one():
            pass
        return self._by_id.get(entry_id)

    def _read_one(self) -> bool:
        for entry in self._unread:
            own_id = members(entry).get("id")
            if isinstance(own_id, (str, int, float)):
                self._by_id.setdefault(own_id, entry)
                return True
        return False

    def __contains__(self, entry_id: Any) -> bool:
        return self.find(entry_id) is not None

    def add(self, entry_id: str, entry: Entry) -> None:
        """Notes an entry that was appended behind all others."""
        self._by_id[entry_id] = entry


def walk_back(entry: Entry | None, index: Index) -> Iterator[Entry]:
    """The entry, its parent, and so on. The walk ends where a parent is missing, whatever the reason: none is named, no
    entry has the id, or (a rule of ours: Pi never comes back) the parent was passed already.
    (TRE-04, TRE-08, TRE-12)"""
    passed = set()
    while entry is not None and id(entry) not in passed:
        yield entry
        passed.add(id(entry))
        entry = index.find(members(entry).get("parentId"))


def walk_of(entries: Sequence[Entry], leaf: Leaf = LAST) -> Iterator[Entry]:
    """The path walked from its leaf. A leaf that no entry has gives an empty path. (TRE-06, TRE-07)"""
    index = Index(entries)
    return walk_back(index.find(opening_leaf(entries).get("leafId") if leaf is LAST else leaf), index)


def path_of(entries: Sequence[Entry], leaf: Leaf = LAST) -> list[Entry]:
    """The entries from the root to the leaf. (TRE-02, TRE-03)"""
    return list(walk_of(entries, leaf))[::-1]


def opening_leaf(entries: Sequence[Entry]) -> Json:
    """`leafId` of a freshly opened file: the id of its last entry, `None` in an empty file; absent where the last line
    of the file has no id. (TRE-01)"""
    if not entries:
        return {"leafId": None}
    last = members(entries[-1])
    return {"leafId": last["id"]} if "id" in last else {}


def tree(entries: Sequence[Entry]) -> Json:
    """`roots` (ids, in file order), `children` (ids under the id of their parent, oldest first), `labels` (their text
    by target) and `name`. A root has no parent, an unknown one, or itself. An id that occurs twice stands twice in its
    list. What no root leads to, as entries that are each other's ancestors, is not shown. (TRE-14 to TRE-18)"""
    index = index_by_id(entries)
    roots: list[Any] = []
    children: dict[Any, list[Entry]] = {}
    for entry in entries:
        own_id, parent_id = map_key(members(entry).get("id")), map_key(members(entry).get("parentId"))
        if parent_id not in index or parent_id == own_id:
            roots.append(members(entry).get("id"))
        else:
            children.setdefault(parent_id, []).append(index.get(own_id, entry))
    shown = _shown(roots, children)
    return {
        "roots": roots,
        "children": {string(parent_id): ids for parent_id, ids in shown.items() if ids},
        "labels": {string(target): entry["label"] for target, entry in labels(entries).items() if target in shown},
        "name": session_name(entries),
    }


def _shown(roots: Sequence[Any], children: Mapping[Any, Sequence[Entry]]) -> dict[Any, list[Any]]:
    """For every id that a root leads to, the ids of its children by time. Depth is no limit: there is no recursion."""
    shown: dict[Any, list[Any]] = {}
    waiting = list(roots)
    while waiting:
        parent_id = map_key(waiting.pop())
        if parent_id not in shown:
            shown[parent_id] = [members(child).get("id") for child in sorted(children.get(parent_id, ()), key=_time_of)]
            waiting.extend(shown[parent_id])
    return shown


def _time_of(entry: Entry) -> float:
    return milliseconds(members(entry).get("timestamp", float("nan")))


def labels(entries: Sequence[Entry]) -> dict[Any, Entry]:
    """The label entry in force for each target that has one: the last in the file, on any branch. One without text
    takes the label away. Targets come in the order in which they were labelled. (TRE-19, TRE-20)"""
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
    """The last name that the file gives, on any branch; an empty one means that there is none. (TRE-21 to TRE-23)"""
    for entry in reversed(entries):
        if members(entry).get("type") == "session_info":
            name = members(entry).get("name")
            if name is None:
                return None
            if not isinstance(name, str):
                raise malformed("a session name that is no text")
            return trim(name) or None
    return None
