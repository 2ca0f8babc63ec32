"""What the model sees of a session (chapter PRJ): the path is folded at its newest compaction, edits are applied, and
every entry left becomes the messages it stands for.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from .dates import milliseconds
from .ecma import map_key, members, or_null, pick, truthy
from .tree import Index, walk_back
from .types import LAST, Entry, Json, Leaf, Message

_REPAIRED = ("system", "user", "assistant", "toolResult")
_EDITABLE = ("user", "assistant", "toolResult", "custom")
_IN_BLOCKS = ("assistant", "toolResult")


class ProjectedEntry(NamedTuple):
    """An entry that is left after the fold, and the messages it stands for (maybe none)."""

    source: Entry
    messages: list[Message]

    @property
    def is_compaction(self) -> bool:
        return bool(members(self.source).get("type") == "compaction")


@dataclass(frozen=True, slots=True)
class Projection:
    """All entries that are left, in order. Those from index `since` on come after the newest compaction; without one
    that is every entry."""

    entries: list[ProjectedEntry]
    since: int

    @property
    def messages(self) -> list[Message]:
        return [message for entry in self.entries for message in entry.messages]


def walk_from(entries: Sequence[Entry], leaf: Leaf = LAST) -> Iterator[Entry]:
    """The path that is projected, walked from its leaf. Here an id that no entry has stands for the last entry;
    `None` is an empty path. (PRJ-01 to PRJ-04)"""
    index = Index(entries)
    if leaf is None or not entries:
        return iter(())
    entry = None if leaf is LAST else index.find(leaf)
    return walk_back(entries[-1] if entry is None else entry, index)


def project(walk: Iterable[Entry]) -> Projection:
    """The projection of a path that is walked from its leaf."""
    return project_fold(fold(walk))


def project_fold(folded: Fold) -> Projection:
    """Of the compactions in a fold only the newest is shown, though an older one may be kept.
    (PRJ-14, PRJ-34, PRJ-35)"""
    sources = folded.entries
    edits = _edits_among(sources)
    projected = []
    for index, source in enumerate(sources):
        is_older_compaction = index > 0 and members(source).get("type") == "compaction"
        projected.append(ProjectedEntry(source, [] if is_older_compaction else _edited_messages(source, edits)))
    return Projection(projected, len(sources) - len(folded.after))


# ---- fold ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Fold:
    """The newest compaction on a path (`None` if there is none), what it keeps of the entries before it, and the
    entries after it."""

    compaction: Entry | None
    kept: list[Entry]
    after: list[Entry]

    @property
    def entries(self) -> list[Entry]:
        return self.after if self.compaction is None else [self.compaction, *self.kept, *self.after]


def fold(walk: Iterable[Entry]) -> Fold:
    """Folds a path that is walked from its leaf. What the newest compaction summarised is not visited, so that damage
    in there goes unseen and a long past costs nothing.
    (PRJ-05, PRJ-06, PRJ-12, PRJ-15, and the reading `skip` of PRJ-36)"""
    walk = iter(walk)
    after: list[Entry] = []
    for entry in walk:
        if members(entry).get("type") == "compaction":
            return Fold(entry, _kept(members(entry).get("firstKeptEntryId"), walk), after[::-1])
        after.append(entry)
    return Fold(None, [], after[::-1])


def newest_compaction(path: Sequence[Entry]) -> int | None:
    """Position of the last compaction on a path, `None` if there is none."""
    for position in range(len(path) - 1, -1, -1):
        if members(path[position]).get("type") == "compaction":
            return position
    return None


def _kept(first_kept_id: Any, walk: Iterable[Entry]) -> list[Entry]:
    """Walks on to the first kept entry. Where no entry has its id, nothing is kept; system messages never are, since
    the compaction holds the system state. (PRJ-07 to PRJ-11, PRJ-13)"""
    kept = []
    for entry in walk:
        kept.append(entry)
        if members(entry).get("id") == first_kept_id:
            return [each for each in reversed(kept) if not _is_system_message(each)]
    return []


def _is_system_message(entry: Entry) -> bool:
    own = members(entry)
    return own.get("type") == "message" and members(own.get("message")).get("role") == "system"


# ---- entries to messages ---------------------------------------------------------------------------------------------


def messages_of(entry: Entry) -> list[Message]:
    """The messages that an entry stands for, before edits. Missing content is repaired, other content is not looked
    at. Most kinds of entry stand for none. (PRJ-16 to PRJ-33, PRJ-37)"""
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
    """The edit in force for each target: the last one in the folded path, wherever its target stands.
    (PRJ-42, PRJ-45 to PRJ-51)"""
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
    """The original message with new content and everything else as it was. Only four roles can be replaced.
    (PRJ-43, PRJ-44, PRJ-52 to PRJ-55)"""
    own = members(message)
    role = own.get("role")
    if role not in _EDITABLE:
        return message
    content = pick(members(replacement), "content")
    if role in _IN_BLOCKS and isinstance(content.get("content"), str):
        content = {"content": [{"type": "text", "text": content["content"]}]}
    return {name: value for name, value in own.items() if name != "content"} | content


# ---- settings --------------------------------------------------------------------------------------------------------


def settings_on(walk: Iterable[Entry]) -> Json:
    """Thinking level and model of a path that is walked from its leaf: the newest of each, on the whole path, since
    folds and edits change nothing here. A reply tells the model as a change of the model does. (PRJ-38 to PRJ-41)"""
    thinking: Json | None = None
    model: Json | None = None
    for entry in walk:
        own = members(entry)
        kind = own.get("type")
        if kind == "thinking_level_change" and thinking is None:
            thinking = pick(own, "thinkingLevel")
        elif kind == "model_change" and model is None:
            model = _model(own, "modelId")
        elif kind == "message" and members(own.get("message")).get("role") == "assistant" and model is None:
            model = _model(own["message"], "model")
    return {**({"thinkingLevel": "off"} if thinking is None else thinking), "model": model}


def _model(source: Any, id_field: str) -> Json:
    return pick(source, "provider") | ({"modelId": source[id_field]} if id_field in source else {})
