"""What a compaction is about to do (chapter PRE): what it summarises, what it keeps, what it takes over."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .cut_point import find_projected
from .ecma import members, number_of, or_null, truthy
from .file_operations import FileOperations
from .projection import ProjectedEntry, fold, project_fold
from .tokens import of_projection
from .tree import walk_of
from .types import Entry, Json, Leaf, Message


def prepare(entries: Sequence[Entry], leaf: Leaf, settings: Any) -> Json | None:
    """The preparation at the leaf, or `None` where there is nothing to do: the path is empty or ends in a compaction,
    or nothing is left to summarise. Of the settings only `keepRecentTokens` counts. Nothing is changed.

    A split turn has its first part in `turnPrefixMessages`, apart from the complete turns in `messagesToSummarize`.
    (PRE-01 to PRE-24, PRE-30 to PRE-33, FIL-14 to FIL-17)"""
    folded = fold(walk_of(entries, leaf))
    if not folded.after:
        return None
    projection = project_fold(folded)
    previous: Any = {}
    since = projection.entries
    if since and since[0].is_compaction and since[0].messages:
        previous = members(since[0].source)
        since = since[1:]  # what the compaction kept, and what came after it
    tokens_before = of_projection(projection)["tokens"]
    cut = find_projected(since, number_of(members(settings), "keepRecentTokens"))
    first_kept_id = members(since[cut.first_kept].source).get("id") if cut.first_kept < len(since) else None
    if not truthy(first_kept_id):
        return None
    history_end = cut.turn_start if cut.splits_turn else cut.first_kept
    history = _conversation(since[:history_end])
    turn_prefix = _conversation(since[history_end : cut.first_kept])
    if not history and not turn_prefix:
        return None
    operations = FileOperations()
    if not truthy(previous.get("fromHook")):
        operations.add_details(previous.get("details"))
    for message in (*history, *turn_prefix):
        operations.add_message(message)
    return {
        "firstKeptEntryId": first_kept_id,
        "messagesToSummarize": history,
        "turnPrefixMessages": turn_prefix,
        "isSplitTurn": cut.splits_turn,
        "tokensBefore": or_null(tokens_before),
        "previousSummary": previous.get("summary"),
        "fileOperations": operations.lists(),
    }


def _conversation(entries: Sequence[ProjectedEntry]) -> list[Message]:
    """Messages without those of the system: the compaction carries the system state in another way."""
    messages = (message for entry in entries if not entry.is_compaction for message in entry.messages)
    return [message for message in messages if members(message).get("role") != "system"]
