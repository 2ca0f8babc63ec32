"""What a compaction is about to do (chapter HCO). It works on the entries as they are stored.

After an earlier compaction, the messages that it kept stand in for entries, in front of what was appended since.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..ecma import iterate, members, number_of, or_null
from ..file_operations import FileOperations
from ..projection import newest_compaction
from ..types import Entry, Json, Message
from . import cut_point
from .context import context_messages, summary_message
from .tokens import of_context


def prepare(path: Sequence[Entry], settings: Any) -> Json | None:
    """The preparation for a path, or `None` where it is empty or ends in a compaction. Of the settings only
    `keepRecentTokens` counts. That nothing is left to summarise is no reason to stop."""
    if not path or members(path[-1]).get("type") == "compaction":
        return None
    compaction_at = newest_compaction(path)
    previous: Any = {} if compaction_at is None else path[compaction_at]
    entries = _since(path, compaction_at)
    tokens_before = of_context(context_messages(path))["tokens"]
    cut, splits = cut_point.find(entries, 0, len(entries), number_of(members(settings), "keepRecentTokens"))
    history_end = cut.turn_start if splits else cut.first_kept
    history = _messages(entries[:history_end])
    turn_prefix = _messages(entries[history_end : cut.first_kept])
    return {
        "retainedTail": _messages(entries[cut.first_kept :]),
        "messagesToSummarize": history,
        "turnPrefixMessages": turn_prefix,
        "isSplitTurn": splits,
        "tokensBefore": or_null(tokens_before),
        "previousSummary": previous.get("summary"),
        "fileOperations": file_operations([*history, *turn_prefix], previous.get("details")).lists(),
    }


def _since(path: Sequence[Entry], compaction_at: int | None) -> list[Entry]:
    """The kept messages of the compaction as entries, then the entries after it; the whole path without one."""
    if compaction_at is None:
        return list(path)
    retained = iterate(members(path[compaction_at]).get("retainedTail"))
    kept = [{"type": "message", "message": members(message)} for message in retained]
    return [*kept, *path[compaction_at + 1 :]]


def _messages(entries: Sequence[Entry]) -> list[Message]:
    """Messages as they are stored, failed answers included, and branch summaries, those without text included."""
    messages: list[Message] = []
    for entry in entries:
        own = members(entry)
        if own.get("type") == "message":
            messages.append(own.get("message"))
        elif own.get("type") == "branch_summary":
            messages.append(summary_message(own))
    return messages


def file_operations(messages: Sequence[Message], previous_details: Any) -> FileOperations:
    """Files in the calls of these messages, and in the lists of the previous compaction, whoever wrote it."""
    operations = FileOperations()
    add_details(operations, previous_details)
    for message in messages:
        operations.add_message(message)
    return operations


def add_details(operations: FileOperations, details: Any) -> None:
    """The two lists in the details of a summary, if that is what the details are; of the lists only texts are taken."""
    if isinstance(details, dict):
        operations.add_details({name: _texts(details.get(name)) for name in ("readFiles", "modifiedFiles")})


def _texts(paths: Any) -> list[str]:
    return [path for path in paths if isinstance(path, str)] if isinstance(paths, list) else []
