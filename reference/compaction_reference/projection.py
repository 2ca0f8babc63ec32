"""What the model sees of a session (chapter PRJ): the path is folded at its newest compaction, edits are applied, and
every entry left becomes the messages it stands for.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .dates import milliseconds
from .ecma import map_key, members, or_null, pick, truthy
from .tree import index_by_id, path_to
from .types import LAST, Entry, Json, Leaf, Message

_REPAIRED = ("system", "user", "assistant", "toolResult")
_EDITABLE = ("user", "assistant", "toolResult", "custom")
_IN_BLOCKS = ("assistant", "toolResult")


@dataclass(frozen=True, slots=True)
class ProjectedEntry:
    """An entry of the folded path, its position on the whole path, and the messages it stands for (maybe none)."""

    source: Entry
    position: int
    messages: list[Message]


@dataclass(frozen=True, slots=True)
class Projection:
    path: list[Entry]
    entries: list[ProjectedEntry]
    settings: Json

    @property
    def messages(self) -> list[Message]:
        return [message for entry in self.entries for message in entry.messages]


def project(entries: Sequence[Entry], leaf: Leaf = LAST) -> Projection:
    """The projection at the leaf. An id that no entry has stands for the last entry, `None` for an empty path."""
    return project_path(selected_path(entries, leaf))


def project_path(path: list[Entry]) -> Projection:
    """The projection of a path. Of the compactions on it only the newest is shown, though an older one may be kept."""
    settings = settings_on(path)
    positions = fold(path)
    edits = _edits_among([path[position] for position in positions])
    projected = []
    for index, position in enumerate(positions):
        source = path[position]
        is_older_compaction = index > 0 and members(source).get("type") == "compaction"
        messages = [] if is_older_compaction else _edited_messages(source, edits)
        projected.append(ProjectedEntry(source, position, messages))
    return Projection(path, projected, settings)


def selected_path(entries: Sequence[Entry], leaf: Leaf = LAST) -> list[Entry]:
    """As `tree.path_of`, save that a leaf which no entry has means the last entry."""
    index = index_by_id(entries)
    if leaf is None or not entries:
        return []
    entry = index.get(map_key(leaf)) if truthy(leaf) else None
    return path_to(entries[-1] if entry is None else entry, index)


def settings_on(path: Sequence[Entry]) -> Json:
    """Thinking level and model at the end of the whole path: folds and edits change nothing here."""
    thinking: Json = {"thinkingLevel": "off"}
    model: Json | None = None
    for entry in path:
        own = members(entry)
        kind = own.get("type")
        if kind == "message":
            message = members(own.get("message"))
            if message.get("role") == "assistant":
                model = _model(message, "model")
        elif kind == "thinking_level_change":
            thinking = pick(own, "thinkingLevel")
        elif kind == "model_change":
            model = _model(own, "modelId")
    return {**thinking, "model": model}


def _model(source: Any, id_field: str) -> Json:
    return pick(source, "provider") | ({"modelId": source[id_field]} if id_field in source else {})


# ---- fold ------------------------------------------------------------------------------------------------------------


def fold(path: Sequence[Entry]) -> list[int]:
    """Positions on the path that are left after folding, in the order of the projection: the newest compaction, what
    it keeps, what came after it. Without a compaction that is the whole path."""
    compaction_at = newest_compaction(path)
    if compaction_at is None:
        return list(range(len(path)))
    first_kept_id = members(path[compaction_at]).get("firstKeptEntryId")
    kept: list[int] = []
    for position in range(first_kept_position(path, compaction_at, first_kept_id), compaction_at):
        if not _is_system_message(path[position]):  # the compaction holds the system state
            kept.append(position)
    return [compaction_at, *kept, *range(compaction_at + 1, len(path))]


def newest_compaction(path: Sequence[Entry]) -> int | None:
    """Position of the last compaction on the path."""
    for position in range(len(path) - 1, -1, -1):
        if members(path[position]).get("type") == "compaction":
            return position
    return None


def first_kept_position(path: Sequence[Entry], compaction_at: int, first_kept_id: Any) -> int:
    """Where the kept range begins; `compaction_at` (nothing is kept) if no entry before the compaction has the id."""
    for position in range(compaction_at - 1, -1, -1):
        if map_key(members(path[position]).get("id")) == map_key(first_kept_id):
            return position
    return compaction_at


def _is_system_message(entry: Entry) -> bool:
    own = members(entry)
    return own.get("type") == "message" and members(own.get("message")).get("role") == "system"


# ---- entries to messages ---------------------------------------------------------------------------------------------


def messages_of(entry: Entry) -> list[Message]:
    """The messages that an entry stands for, before edits. Missing content is repaired, other content is not looked
    at. Most kinds of entry stand for none."""
    own = members(entry)
    kind = own.get("type")
    if kind == "message":
        return [_repaired(own.get("message"))]
    if kind == "custom_message":
        content = own.get("content")
        return [
            {"role": "custom", "content": [] if content is None else content}
            | pick(own, "customType", "display", "details")
            | _timestamp(own)
        ]
    if kind == "branch_summary" and truthy(own.get("summary")):
        return [{"role": "branchSummary"} | pick(own, "summary", "fromId") | _timestamp(own)]
    if kind == "compaction":
        summary = {"role": "compactionSummary"} | pick(own, "summary", "tokensBefore") | _timestamp(own)
        system = own.get("systemMessage")
        return [system, summary] if truthy(system) else [summary]
    return []


def _repaired(message: Message) -> Message:
    own = members(message)
    role = own.get("role")
    if own.get("content") is None and role in _REPAIRED:
        return {**own, "content": "" if role == "system" else []}
    return message


def _timestamp(entry: Any) -> Json:
    return {"timestamp": or_null(milliseconds(entry.get("timestamp", math.nan)))}


# ---- edits -----------------------------------------------------------------------------------------------------------


def _edits_among(folded: Sequence[Entry]) -> dict[Any, Entry]:
    """The edit in force for each target: the last one in the folded path, wherever its target stands."""
    edits = {}
    for entry in folded:
        own = members(entry)
        if own.get("type") == "context_edit":
            edits[map_key(own.get("targetId"))] = own
    return edits


def _edited_messages(source: Entry, edits: dict[Any, Any]) -> list[Message]:
    messages = messages_of(source)
    edit = edits.get(map_key(members(source).get("id")))
    if edit is None:
        return messages
    if "replacement" in edit and edit["replacement"] is None:
        return []
    return [_replaced(message, edit.get("replacement")) for message in messages]


def _replaced(message: Message, replacement: Any) -> Message:
    """The original message with new content and everything else as it was. Only four roles can be replaced."""
    own = members(message)
    role = own.get("role")
    if role not in _EDITABLE:
        return message
    content = pick(members(replacement), "content")
    if role in _IN_BLOCKS and isinstance(content.get("content"), str):
        content = {"content": [{"type": "text", "text": content["content"]}]}
    return {name: value for name, value in own.items() if name != "content"} | content
