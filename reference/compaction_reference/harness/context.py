"""What the model sees of a path (chapter HCO): the newest compaction with the messages it keeps, and what came after.

Failed answers are stored like all others. They are left out here, each time, and nowhere else.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..dates import milliseconds
from ..ecma import is_number, iterate, members, or_null, pick, truthy
from ..errors import malformed
from ..projection import newest_compaction
from ..types import Entry, Json, Message

_HIDDEN_STOP_REASONS = ("error", "aborted", "deferred")


def context_entries(path: Sequence[Entry]) -> list[Entry]:
    """The newest compaction and what follows it; the whole path where there is none."""
    compaction_at = newest_compaction(path)
    return list(path[compaction_at or 0 :])


def context_messages(path: Sequence[Entry]) -> list[Message]:
    """The messages of the context, in order."""
    return [message for entry in context_entries(path) for message in messages_of(entry)]


def messages_of(entry: Entry) -> list[Message]:
    """The messages that an entry of the context stands for. A compaction brings those that it kept along. Refuses an
    entry of a type that is none of the four."""
    own = members(entry)
    kind = own.get("type")
    if kind == "message":
        return [message for message in [own.get("message")] if _is_shown(message)]
    if kind == "compaction":
        return [summary_message(own), *filter(_is_shown, iterate(own.get("retainedTail")))]
    if kind == "branch_summary":
        return [summary_message(own)] if truthy(own.get("summary")) else []
    if kind != "custom":
        raise malformed(f"an entry of type {kind!r}")
    return []


def summary_message(entry: Any) -> Json:
    """The summary in a compaction or branch summary entry as a message of its own role."""
    if entry.get("type") == "compaction":
        return {"role": "compactionSummary"} | pick(entry, "summary", "tokensBefore") | _timestamp(entry)
    return {"role": "branchSummary"} | pick(entry, "summary", "fromId") | _timestamp(entry)


def _is_shown(message: Message) -> bool:
    own = members(message)
    return own.get("role") != "assistant" or own.get("stopReason") not in _HIDDEN_STOP_REASONS


def _timestamp(entry: Any) -> Json:
    """Entries have milliseconds here; a text is read as a time."""
    time = entry.get("timestamp", math.nan)
    return {"timestamp": time if is_number(time) and math.isfinite(time) else or_null(milliseconds(time))}
