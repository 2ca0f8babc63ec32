"""The state of a session (chapter HSE): entries in the order of their sequence numbers, and the tips of branches.

Everything is written in transactions, lists of writes. A transaction is checked as a whole before it changes anything:
numbers rise, ids are new, parents are known. So there are no cycles and no gaps to be careful about later on.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ..ecma import map_key, members, number_of
from ..errors import Refusal, malformed
from ..types import LAST, Entry, Json, Leaf, Place

BRANCH = "main"
TIP_NAMESPACE = "pi.branch.tip"

Write: TypeAlias = Json

_ABSENT = Place  # a key that no value has


@dataclass(slots=True)
class Storage:
    """`tips` maps the name of a branch to the id of its newest entry, or to `None` for a branch without one."""

    entries: list[Entry] = field(default_factory=list)
    tips: dict[str, Any] = field(default_factory=dict)
    next_seq: float = 1
    _by_id: dict[Any, Entry] = field(default_factory=dict)
    _usage_ids: set[Any] = field(default_factory=set)

    def commit(self, writes: Sequence[Write]) -> None:
        """Checks and applies one transaction whose writes have their numbers already."""
        self._check(writes)
        for write in writes:
            self._apply(write)

    def raise_next_seq(self, seq: float) -> None:
        """A header can say that higher numbers were given out before."""
        self.next_seq = max(self.next_seq, seq)

    def path(self, tip: Any) -> list[Entry]:
        """The entries from the root to the tip; none for `None`. Refuses (`entry_not_found`) an unknown tip."""
        path: list[Entry] = []
        key = map_key(tip)
        while key is not None:
            if key not in self._by_id:
                raise Refusal("entry_not_found", f"no entry has the id {tip!r}")
            path.append(self._by_id[key])
            key = key_of(path[-1], "parentId")
        path.reverse()
        return path

    def _check(self, writes: Sequence[Write]) -> None:
        last_seq = self.next_seq - 1
        new_ids: set[Any] = set()
        new_entries: set[Any] = set()
        for write in writes:
            seq = number_of(write, "seq")
            if seq <= last_seq:
                raise malformed(f"the sequence number {seq} after {last_seq}")
            last_seq = seq
            if write["kind"] not in ("entry", "usage"):
                continue
            own_id, parent_id = key_of(write, "id"), key_of(write, "parentId")
            if own_id in self._by_id or own_id in self._usage_ids or own_id in new_ids:
                raise malformed(f"the id {write.get('id')!r} twice")
            if write["kind"] == "entry" and not self._is_known(parent_id, new_entries):
                raise Refusal("entry_not_found", f"no earlier entry has the id {write.get('parentId')!r}")
            new_ids.add(own_id)
            if write["kind"] == "entry":
                new_entries.add(own_id)

    def _is_known(self, parent_id: Any, new_entries: set[Any]) -> bool:
        return parent_id is None or parent_id in self._by_id or parent_id in new_entries

    def _apply(self, write: Write) -> None:
        if write["kind"] == "entry":
            entry = {name: value for name, value in write.items() if name != "kind"}
            self.entries.append(entry)
            self._by_id[key_of(entry, "id")] = entry
        elif write["kind"] == "usage":
            members(members(write.get("usage")).get("cost"))  # it is added up, so it has to be there
            self._usage_ids.add(key_of(write, "id"))
        elif write["kind"] == "value" and write.get("namespace") == TIP_NAMESPACE:
            branch = str(write.get("key"))
            if write["op"] == "set":
                self.tips[branch] = write.get("value")
            else:
                self.tips.pop(branch, None)
        self.next_seq = number_of(write, "seq") + 1


def key_of(source: Any, name: str) -> Any:
    """What the id in this field is told by; an absent field is a key of its own, `null` is `None`."""
    return map_key(source[name]) if name in source else _ABSENT


def in_memory(entries: Sequence[Entry], leaf: Leaf = LAST) -> tuple[Storage, Any]:
    """A storage that holds these entries, and the tip: the leaf, or the id of the last entry."""
    storage = Storage()
    storage.commit([{**(entry if isinstance(entry, dict) else {}), "kind": "entry"} for entry in entries])
    last_id = storage.entries[-1].get("id") if storage.entries else None
    return storage, last_id if leaf is LAST else leaf


def path_of(entries: Sequence[Entry], leaf: Leaf = LAST) -> list[Entry]:
    """The path of the leaf. Refuses entries that no file of this format can hold, and a leaf that none of them is."""
    storage, tip = in_memory(entries, leaf)
    return storage.path(tip)


def tip_write(tip: Any) -> Write:
    """The write that moves the branch."""
    return {"kind": "value", "op": "set", "namespace": TIP_NAMESPACE, "key": BRANCH, "value": tip}


def numbered(writes: Sequence[Write], first_seq: float) -> list[Write]:
    """The writes of a transaction with the numbers that they get."""
    if math.isnan(first_seq):
        raise malformed("entries without sequence numbers")
    return [{**write, "seq": first_seq + place} for place, write in enumerate(writes)]
