"""Appending to a session and forking it (chapter APP).

An append hangs a new entry below the leaf and moves the leaf to it, whatever the entry is. Nothing that was written
changes. This is the one place, with `session_file`, where ids and times are made.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from .dates import iso_text, milliseconds
from .ecma import map_key, members, pick, trim, truthy
from .errors import Refusal, malformed
from .projection import Projection, project
from .system import current_system_message
from .tree import Index, labels, opening_leaf, path_of, walk_back
from .types import LAST, Entry, Json, Leaf

_SESSION_ID = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
_EDITABLE_ROLES = ("user", "assistant", "toolResult")

# The fields that each kind of draft hands to its entry as they are, where they are there.
_FIELDS = {
    "message": ("message",),
    "thinking_level_change": ("thinkingLevel",),
    "model_change": ("provider", "modelId"),
    "usage": ("kind", "provider", "model", "usage", "note"),
    "compaction": ("summary", "firstKeptEntryId", "tokensBefore", "details", "usage", "fromHook"),
    "branch_summary": ("summary", "details", "usage", "fromHook"),
    "custom": ("customType", "data"),
    "custom_message": ("customType", "content", "display", "details"),
    "label": ("targetId", "label"),
    "session_info": ("name",),
    "context_edit": ("targetId", "replacement"),
}


def _random_id() -> str:
    return uuid.uuid4().hex[:8]


def _now() -> str:
    return iso_text(datetime.now(UTC))


@dataclass(frozen=True, slots=True)
class Makers:
    """Where ids of entries and times come from; a program that needs the same answer twice brings its own."""

    new_id: Callable[[], str] = _random_id
    now: Callable[[], str] = _now

    def free_id(self, taken: Container[Any]) -> str:
        """An id that is not taken; after a hundred vain tries a long one."""
        tries = (self.new_id() for _ in range(100))
        return next((candidate for candidate in tries if candidate not in taken), str(uuid.uuid4()))


class Session:
    """Entries and the place of the leaf. `append` is the only method that changes it."""

    def __init__(self, entries: Sequence[Entry], leaf: Leaf = LAST, makers: Makers | None = None) -> None:
        self.entries = list(entries)
        self.makers = makers or Makers()
        self._index = Index(entries)
        if leaf is not LAST and leaf is not None:
            self._existing(leaf)
        # `leafId` as a field, since it can be absent: where the last line of a file has no id to name.
        self.leaf: Json = opening_leaf(self.entries) if leaf is LAST else {"leafId": leaf}

    def path(self) -> list[Entry]:
        """From the root to the leaf; empty also where the leaf has no id to find it by."""
        return list(walk_back(self._index.find(self.leaf.get("leafId")), self._index))[::-1]

    def projection(self) -> Projection:
        """What the model sees. Here a leaf without an id is not lost: it is the last entry."""
        if self.leaf.get("leafId", LAST) is None:
            return project(())
        entry = self._index.find(self.leaf.get("leafId"))
        return project(walk_back(self.entries[-1] if entry is None else entry, self._index))

    def append(self, draft: Any) -> Json:
        """The entry that the draft became. Refuses without changing anything; `message`, `custom` and the like are
        taken as they are, references are checked only where a rule says so. (APP-01 to APP-05, APP-27 to APP-29)"""
        given = members(draft)
        kind = given.get("type")
        if kind not in _FIELDS:
            raise ValueError(f"no kind of entry: {kind}")
        own = pick(given, *_FIELDS[kind])
        parent = {"parentId": self.leaf["leafId"]} if "leafId" in self.leaf else {}
        new_id, now = self.makers.free_id(self._index), self.makers.now()
        if kind == "compaction":
            own |= self._compaction_fields(given, new_id, now)
        elif kind == "branch_summary":
            parent, own = self._branch_fields(given, own)
        elif kind == "label":
            self._existing(given.get("targetId"))
        elif kind == "context_edit":
            own["replacement"] = self._checked_replacement(given)
        elif kind == "session_info":
            own["name"] = _one_line(given.get("name"))
        elif kind == "usage" and not truthy(own.get("note")):
            own.pop("note", None)
        entry = {"type": kind, "id": new_id, **parent, "timestamp": now, **own}
        self.entries.append(entry)
        self._index.add(new_id, entry)
        self.leaf = {"leafId": new_id}
        return entry

    def _existing(self, entry_id: Any) -> Entry:
        entry = self._index.find(entry_id)
        if entry is None:
            raise Refusal("entry_not_found", f"no entry has the id {entry_id!r}")
        return entry

    def _compaction_fields(self, given: Any, new_id: str, now: str) -> Json:
        """A compaction that keeps nothing names itself, and every compaction carries the system state before it.
        (APP-06 to APP-14)"""
        first_kept = given.get("firstKeptEntryId")
        fields: Json = {"firstKeptEntryId": new_id if first_kept is None else first_kept}
        system = current_system_message(self.projection().messages)
        if system is not None:
            fields["systemMessage"] = system | {"timestamp": milliseconds(now)}
        return fields

    def _branch_fields(self, given: Any, own: Json) -> tuple[Json, Json]:
        """A branch summary hangs where the new branch begins and remembers the leaf that was left.
        (APP-24 to APP-26)"""
        branch_from = given.get("branchFromId")
        if branch_from is not None or "branchFromId" not in given:
            self._existing(branch_from)
        left = self.leaf.get("leafId")
        return {"parentId": branch_from}, {"fromId": "root" if left is None else left, **own}

    def _checked_replacement(self, given: Any) -> Any:
        """The replacement as it is stored. Checked in this order: its form, that the target exists, that it is on the
        path of the leaf, that it is of a kind that can be edited. (APP-15 to APP-23)"""
        replacement = given.get("replacement")
        if "replacement" not in given or not (replacement is None or _has_content(replacement)):
            raise Refusal("invalid_replacement", "a replacement is null or has content: text or blocks")
        target_id = given.get("targetId")
        target = self._existing(target_id)
        if not any(entry is target for entry in self.path()):
            raise Refusal("not_on_path", f"entry {target_id!r} is not on the path of the leaf")
        role = _edited_role(members(target))
        if role is None:
            raise Refusal("not_editable", f"entry {target_id!r} has no content that can be edited")
        if replacement is not None and role in ("assistant", "toolResult") and isinstance(replacement["content"], str):
            return {"content": [{"type": "text", "text": replacement["content"]}]}
        return replacement


def _has_content(replacement: Any) -> bool:
    return isinstance(replacement, dict) and isinstance(replacement.get("content"), (str, list))


def _edited_role(target: Any) -> str | None:
    if target.get("type") == "custom_message":
        return "custom"
    if target.get("type") == "message":
        role = members(target.get("message")).get("role")
        return role if role in _EDITABLE_ROLES else None
    return None


def _one_line(name: Any) -> str:
    if not isinstance(name, str):
        raise malformed("a session name that is no text")
    return trim(re.sub(r"[\r\n]+", " ", name))


def check_session_id(session_id: str) -> None:
    """Refuses an id that a new session cannot take: letters, digits, `-`, `_`, `.`, with a letter or digit at both
    ends. Ids that are read from files are not checked."""
    if not _SESSION_ID.fullmatch(session_id):
        raise Refusal("invalid_session_id", f"{session_id!r} cannot be a session id")


def fork(entries: Sequence[Entry], leaf: Leaf = LAST, makers: Makers | None = None) -> list[Entry]:
    """The entries of a new file that holds one path alone. Label entries are taken out and the path is chained anew;
    labels that are in force on it are written again at the end. Refuses (`entry_not_found`) an empty path.
    (TRE-24 to TRE-28)"""
    path = path_of(entries, leaf)
    if not path:
        raise Refusal("entry_not_found", "no entry to fork at")
    copied: list[Json] = []
    successor_of_label: dict[Any, Any] = {}
    passed_labels: list[Any] = []
    for entry in path:
        own = members(entry)
        if own.get("type") == "label":
            passed_labels.append(map_key(own.get("id")))
            continue
        successor_of_label |= dict.fromkeys(passed_labels, own.get("id"))
        passed_labels = []
        copied.append({**own, "parentId": copied[-1].get("id") if copied else None})
        if own.get("type") == "compaction" and map_key(own.get("firstKeptEntryId")) in successor_of_label:
            copied[-1]["firstKeptEntryId"] = successor_of_label[map_key(own.get("firstKeptEntryId"))]
    return copied + _labels_anew(copied, labels(entries), makers or Makers())


def _labels_anew(copied: Sequence[Json], in_force: dict[Any, Entry], makers: Makers) -> list[Json]:
    taken = {map_key(entry.get("id")) for entry in copied}
    targets = frozenset(taken)
    parent_id = copied[-1].get("id") if copied else None
    written: list[Json] = []
    for target, label in in_force.items():
        if target in targets:
            new_id = makers.free_id(taken)
            entry = {"type": "label", "id": new_id, "parentId": parent_id}
            written.append(entry | pick(label, "timestamp", "targetId", "label"))
            taken.add(new_id)
            parent_id = new_id
    return written
