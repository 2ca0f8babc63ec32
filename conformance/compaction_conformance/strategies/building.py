"""Drafts appended one after the other: ids, parents and times, so that a session can be read and compared.

This is the suite's own small model of an append; it knows nothing of any implementation.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from compaction_conformance.strategies.entries import Back, Draft
from compaction_conformance.strategies.messages import START_MS

Entry = dict[str, Any]
_LETTERS = {
    "user": "u",
    "assistant": "a",
    "toolResult": "t",
    "system": "s",
    "bashExecution": "b",
    "custom_message": "x",
    "branch_summary": "z",
    "context_edit": "e",
    "compaction": "c",
    "label": "l",
    "model_change": "m",
    "thinking_level_change": "k",
    "session_info": "n",
    "custom": "d",
    "usage": "g",
}
_EDITABLE = ("user", "assistant", "toolResult")


@dataclass(frozen=True)
class Go:
    """The user goes so many entries back on the path; past the root the next entry becomes another root."""

    steps: int


Step = Draft | Go


@dataclass
class Builder:
    """Entries in file order and the leaf. Letters of ids: `u` user, `a` assistant, `t` tool result, `s` system, `b`
    shell
    run, `x` custom message, `z` branch summary, `e` edit, `c` compaction, `l` label, others for what is no message."""

    entries: list[Entry] = field(default_factory=list)
    leaf_id: str | None = None
    _by_id: dict[str, Entry] = field(default_factory=dict)
    _counts: dict[str, int] = field(default_factory=dict)

    def take(self, steps: Iterable[Step]) -> Builder:
        for step in steps:
            if isinstance(step, Go):
                path = self.path()
                self.leaf_id = path[-1 - step.steps]["id"] if step.steps < len(path) else None
            elif (draft := self.resolved(step)) is not None:
                self.append(draft)
        return self

    def path(self) -> list[Entry]:
        found = []
        step = self.leaf_id
        while step is not None:
            found.append(self._by_id[step])
            step = found[-1]["parentId"]
        return found[::-1]

    def resolved(self, draft: Draft) -> Draft | None:
        """The draft with ids for every `Back`; None where there is nothing to name."""
        path = self.path()
        own = dict(draft)
        for name, value in draft.items():
            if isinstance(value, Back):
                named = [entry for entry in path if not value.editable or is_editable(entry)]
                if not named:
                    return None
                own[name] = named[max(-1 - value.steps, -len(named))]["id"]
        return own

    def append(self, draft: Draft) -> Entry:
        own = {name: value for name, value in draft.items() if name != "type"}
        own_id, number = self._id(draft), len(self.entries)
        parent = self.leaf_id
        if draft["type"] == "message":
            own["message"] = {**draft["message"], "timestamp": START_MS + 1000 * number}
        elif draft["type"] == "compaction" and own.get("firstKeptEntryId") is None:
            own["firstKeptEntryId"] = own_id
        elif draft["type"] == "branch_summary":
            own["fromId"], parent = parent or "root", own.pop("branchFromId")
        entry = {"type": draft["type"], "id": own_id, "parentId": parent, "timestamp": time_of(number), **own}
        self.entries.append(entry)
        self._by_id[own_id] = entry
        self.leaf_id = own_id
        return entry

    def _id(self, draft: Draft) -> str:
        kind = draft["message"]["role"] if draft["type"] == "message" else draft["type"]
        letter = _LETTERS.get(kind, "o")
        self._counts[letter] = self._counts.get(letter, 0) + 1
        return f"{letter}{self._counts[letter]}"


def time_of(number: int) -> str:
    """The time of the entry with the number, from 0: one second apart, in order."""
    instant = datetime.fromtimestamp((START_MS + 1000 * number) / 1000, UTC)
    return instant.strftime("%Y-%m-%dT%H:%M:%S.000Z")


def is_editable(entry: Entry) -> bool:
    if entry["type"] == "message":
        return entry["message"].get("role") in _EDITABLE
    return bool(entry["type"] == "custom_message")


def outline(entries: Sequence[Any]) -> str:
    """Entries as a person reads them: id and type, what hangs elsewhere than on the entry before, what is named."""
    parts, before = [], None
    for entry in entries:
        if not isinstance(entry, dict):
            parts.append(repr(entry)[:20])
            continue
        kind = entry.get("type")
        message = entry.get("message")
        if kind == "message" and isinstance(message, dict):
            kind = message.get("role")
        text = f"{entry.get('id')} {kind}"
        target = entry.get("firstKeptEntryId") or entry.get("targetId")
        text += f"→{target}" if target else ""
        text += f" on {entry.get('parentId')}" if entry.get("parentId") != before else ""
        parts.append(text)
        before = entry.get("id")
    return " · ".join(parts) or "no entries"
