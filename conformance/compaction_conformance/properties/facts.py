"""Small facts of the rules that several properties need: what an entry stands for, who starts a turn, what is kept.

They are the suite's own; none of them is taken from an implementation.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from compaction_conformance.properties.base import Ask

TURN_ROLES = ("user", "bashExecution", "custom", "branchSummary", "compactionSummary")
CUT_ROLES = (*TURN_ROLES, "assistant")
MODEL_ROLES = ("system", "user", "assistant", "toolResult")


def units(text: str) -> int:
    """Length in UTF-16 code units."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def unit_order(text: str) -> bytes:
    """Sorts as UTF-16 code units do."""
    return text.encode("utf-16-be", "surrogatepass")


def shown_by(entry: Any) -> list[Any]:
    """The messages that a sound entry stands for, as far as estimates and cuts look at them."""
    kind = entry["type"]
    if kind == "message":
        return [entry["message"]]
    if kind == "custom_message":
        return [{"role": "custom", "customType": entry["customType"], "content": entry["content"], "timestamp": 0}]
    if kind == "branch_summary":
        summary = {"role": "branchSummary", "summary": entry["summary"], "fromId": entry["fromId"], "timestamp": 0}
        return [summary] if entry["summary"] else []
    if kind == "compaction":
        summary = {"summary": entry["summary"], "tokensBefore": entry["tokensBefore"], "timestamp": 0}
        return [{"role": "compactionSummary", **summary}]
    return []


def may_be_cut_at(entry: Any) -> bool:
    return entry["type"] != "compaction" and any(message["role"] in CUT_ROLES for message in shown_by(entry))


def starts_turn(entry: Any) -> bool:
    return entry["type"] != "compaction" and any(message["role"] in TURN_ROLES for message in shown_by(entry))


def folded(path: Sequence[Any]) -> list[Any]:
    """The entries of a sound path that are left after the fold, the newest compaction first."""
    places = [place for place, entry in enumerate(path) if entry["type"] == "compaction"]
    if not places:
        return list(path)
    newest = path[places[-1]]
    before = list(path[: places[-1]])
    kept_ids = [entry["id"] for entry in before]
    first = kept_ids.index(newest["firstKeptEntryId"]) if newest["firstKeptEntryId"] in kept_ids else len(before)
    kept = [entry for entry in before[first:] if entry.get("message", {}).get("role") != "system"]
    return [newest, *kept, *path[places[-1] + 1 :]]


def calls_of(message: Any) -> set[str]:
    if message["role"] != "assistant":
        return set()
    return {block["id"] for block in message["content"] if block["type"] == "toolCall"}


def strays(messages: Iterable[Any]) -> list[Any]:
    """The tool results before which no call with their id stands."""
    called: set[str] = set()
    found = []
    for message in messages:
        called |= calls_of(message)
        if message["role"] == "toolResult" and message["toolCallId"] not in called:
            found.append(message)
    return found


def weights(ask: Ask, entries: Sequence[Any]) -> list[float]:
    """What every entry weighs, by the implementation's own estimator."""
    return [sum(ask("tokens/of_message", {"message": each})["tokens"] for each in shown_by(entry)) for entry in entries]


def from_usage(usage: Any) -> int:
    """The size that a whole usage tells."""
    parts = ("input", "output", "cacheRead", "cacheWrite")
    return int(usage["totalTokens"] or sum(usage[part] for part in parts))


def is_usable(message: Any) -> bool:
    """Whether an answer ended properly and its usage counts something."""
    if message["role"] != "assistant" or message["stopReason"] in ("error", "aborted"):
        return False
    return from_usage(message["usage"]) > 0
