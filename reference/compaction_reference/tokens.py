"""How large a context is, in tokens (chapter TOK): what a provider counted, and estimates for the rest.

An estimate is a quarter of the characters (UTF-16 units), rounded up for each message. A provider's count is trusted
until something before it changes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .ecma import iterate, json_text, length, members, number_of, own_entries, truthy, utf16_length
from .errors import malformed
from .projection import Projection
from .session import Session
from .system import current_system_message
from .types import Entry, Json, Message

IMAGE_UNITS = 4800
UNITS_PER_TOKEN = 4


# ---- what a provider counted -----------------------------------------------------------------------------------------


def from_usage(usage: Any) -> float:
    """Tokens of the context after a model call: the provider's total, or the sum of the parts where it is zero or
    absent. NaN where a part is missing. (TOK-01 to TOK-05)"""
    own = members(usage)
    if truthy(own.get("totalTokens")):
        return number_of(own, "totalTokens")
    return sum(number_of(own, part) for part in ("input", "output", "cacheRead", "cacheWrite"))


def usable_usage(message: Message) -> Any | None:
    """The usage of an assistant message that ended properly and counted something, else `None`. (TOK-23)"""
    own = members(message)
    if own.get("role") != "assistant" or own.get("stopReason") in ("aborted", "error"):
        return None
    usage = own.get("usage")
    return usage if truthy(usage) and from_usage(usage) > 0 else None


def last_usage(entries: Sequence[Entry]) -> Any | None:
    """The newest usable usage among the entries as they are stored, on any branch, whatever was edited since.
    (TOK-37, TOK-38)"""
    for entry in reversed(entries):
        own = members(entry)
        if own.get("type") == "message":
            usage = usable_usage(own.get("message"))
            if usage is not None:
                return usage
    return None


# ---- estimates -------------------------------------------------------------------------------------------------------


def of_message(message: Message) -> float:
    """Estimated tokens of one message; 0 for an unknown role. Refuses what has no length where one is needed.
    (TOK-06 to TOK-22)"""
    units = _units(members(message))
    return math.nan if math.isnan(units) else math.ceil(units / UNITS_PER_TOKEN)


def _units(own: Any) -> float:
    role = own.get("role")
    if role in ("user", "custom", "toolResult"):
        return _content_units(own.get("content"))
    if role == "assistant":
        return sum(_assistant_block_units(members(block)) for block in iterate(own.get("content")))
    if role == "system":
        return _system_units(own)
    if role == "bashExecution":
        return length(own.get("command")) + length(own.get("output"))
    if role in ("branchSummary", "compactionSummary"):
        return length(own.get("summary"))
    return 0


def _content_units(content: Any) -> float:
    if isinstance(content, str):
        return utf16_length(content)
    return sum(_content_block_units(members(block)) for block in iterate(content))


def _content_block_units(block: Any) -> float:
    if block.get("type") == "text" and truthy(block.get("text")):
        return length(block["text"])
    return IMAGE_UNITS if block.get("type") == "image" else 0


def _assistant_block_units(block: Any) -> float:
    kind = block.get("type")
    if kind in ("text", "thinking"):
        return length(block.get(kind))
    if kind == "toolCall":
        if "arguments" not in block:
            raise malformed("a tool call without arguments")
        return length(block.get("name")) + utf16_length(json_text(block["arguments"]))
    return 0


def _system_units(own: Any) -> float:
    units = _content_units(own.get("content"))
    if truthy(own.get("sections")):
        units += sum(length(value) for _, value in own_entries(own["sections"]) if truthy(value))
    if truthy(own.get("toolsAdded")):
        units += utf16_length(json_text(own["toolsAdded"]))
    return units


# ---- a whole context -------------------------------------------------------------------------------------------------


def of_context(messages: Sequence[Message]) -> Json:
    """`tokens`: the newest usable usage (`usageTokens`, found at `lastUsageIndex`) and an estimate of what came after
    it (`trailingTokens`). Without a usage everything is estimated and the index is `None`. (TOK-24 to TOK-28)"""
    for index in range(len(messages) - 1, -1, -1):
        usage = usable_usage(messages[index])
        if usage is not None:
            return counts(from_usage(usage), sum(map(of_message, messages[index + 1 :])), index)
    return counts(0, sum(map(of_message, messages)), None)


def counts(usage_tokens: float, trailing_tokens: float, last_usage_index: int | None) -> Json:
    """The shape in which both are told, with their sum."""
    return {
        "tokens": usage_tokens + trailing_tokens,
        "usageTokens": usage_tokens,
        "trailingTokens": trailing_tokens,
        "lastUsageIndex": last_usage_index,
    }


def of_projection(projection: Projection) -> Json:
    """As `of_context`, but a usage from before the newest edit or compaction on the path counts for nothing. Then all
    is estimated, the system messages as the one that they add up to. (TOK-29 to TOK-36)"""
    messages = projection.messages
    counted = of_context(messages)
    if counted["lastUsageIndex"] is not None and _usage_is_current(projection, counted["lastUsageIndex"]):
        return counted
    system = current_system_message(messages)
    estimate = 0 if system is None else of_message(system)
    estimate += sum(of_message(message) for message in messages if members(message).get("role") != "system")
    return counts(0, estimate, None)


def _usage_is_current(projection: Projection, message_index: int) -> bool:
    """Whether the entry of the message stands after the newest edit and compaction on the path. A path to a leaf that
    has no id cannot be asked."""
    if not truthy(members(projection.entries[-1].source).get("id")):
        return False
    used_at = _entry_of_message(projection, message_index)
    later = projection.entries[used_at:]
    return used_at >= projection.since and not any(members(e.source).get("type") == "context_edit" for e in later)


def _entry_of_message(projection: Projection, message_index: int) -> int:
    seen = 0
    for index, entry in enumerate(projection.entries):
        seen += len(entry.messages)
        if message_index < seen:
            return index
    raise IndexError(message_index)


def context_usage(session: Session, context_window: float | None) -> Json | None:
    """How full the window is: `tokens`, `contextWindow`, `percent` (not rounded, can pass 100). `None` without a model
    or window. After a compaction the first two are unknown (`None`) until an assistant has answered.
    (TOK-39 to TOK-44)"""
    if context_window is None or context_window <= 0:
        return None
    projection = session.projection()
    is_compacted = projection.since > 0 and truthy(session.leaf.get("leafId"))
    if is_compacted and not _answered_since(projection):
        return {"tokens": None, "contextWindow": context_window, "percent": None}
    tokens = of_projection(projection)["tokens"]
    return {"tokens": tokens, "contextWindow": context_window, "percent": tokens / context_window * 100}


def _answered_since(projection: Projection) -> bool:
    answered = [any(map(_is_counted_answer, entry.messages)) for entry in projection.entries]
    return any(answered[projection.since :])


def _is_counted_answer(message: Message) -> bool:
    own = members(message)
    if own.get("role") != "assistant" or own.get("stopReason") in ("aborted", "error"):
        return False
    return from_usage(own.get("usage")) > 0
