"""What of a running session stands in a trace (`spec/scenarios.md`): messages, entries, events, reduced."""

from __future__ import annotations

from typing import Any

from ..ecma import pick, utf16_length, utf16_slice
from ..messages import BRANCH_PREFIX, BRANCH_SUFFIX, COMPACTION_PREFIX, COMPACTION_SUFFIX
from ..prompts import BRANCH_PREAMBLE
from ..tokens import from_usage
from ..types import Json

_LONGEST = 40
_SHOWN = 24
_WRAPPINGS = ((COMPACTION_PREFIX, COMPACTION_SUFFIX), (BRANCH_PREFIX, BRANCH_SUFFIX))


def cut(text: str) -> str:
    """A short text as it is, of a long one the beginning and its length in units."""
    length = utf16_length(text)
    return text if length <= _LONGEST else f"{utf16_slice(text, 0, _SHOWN)}…({length})"


def line_of(message: Any) -> str:
    """A message in one line: its role, then its blocks. Summaries are shown without what is wrapped around them."""
    role = message["role"]
    if role == "system":
        return "system"
    if role == "toolResult" and message.get("isError"):
        return "toolResult error"
    if role in ("compactionSummary", "branchSummary"):
        return f"user summary:{cut(own_words(message['summary']))}"
    content = message["content"]
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    texts = [_block(block) for block in blocks]
    if role == "user" and len(blocks) == 1 and blocks[0]["type"] == "text":
        texts = [_unwrapped(blocks[0]["text"])]
    return " ".join(text for text in ("user" if role == "custom" else role, *texts) if text)


def _block(block: Any) -> str:
    if block["type"] == "text":
        return cut(block["text"])
    return f"call:{block['name']}" if block["type"] == "toolCall" else str(block["type"])


def _unwrapped(text: str) -> str:
    for before, after in _WRAPPINGS:
        if text.startswith(before) and text.endswith(after):
            return f"summary:{cut(own_words(text[len(before) : -len(after)]))}"
    return cut(text)


def own_words(summary: str) -> str:
    """A summary of a branch without its preamble, whose words are free."""
    return summary.removeprefix(BRANCH_PREAMBLE)


def entry_of(entry: Any) -> Json:
    """An appended entry."""
    kind = entry["type"]
    own = pick(entry, "type", "id", "parentId")
    if kind == "message":
        return own | {"line": line_of(entry["message"])} | pick(entry["message"], "stopReason")
    if kind == "custom_message":
        return own | pick(entry, "customType") | {"line": line_of({"role": "user", "content": entry["content"]})}
    if kind == "compaction":
        names = ("summary", "firstKeptEntryId", "tokensBefore", "fromHook", "details")
        return own | pick(entry, *names) | _usage(entry) | {"system": "systemMessage" in entry}
    if kind == "branch_summary":
        summary = {"summary": own_words(entry["summary"])}
        return own | pick(entry, "fromId", "fromHook", "details") | summary | _usage(entry)
    if kind == "context_edit":
        replacement = entry["replacement"]
        shown = None if replacement is None else line_of({"role": "with", "content": replacement["content"]})
        return own | pick(entry, "targetId") | {"replacement": shown}
    if kind == "model_change":
        return own | {"model": f"{entry['provider']}/{entry['modelId']}"}
    return own | pick(entry, "targetId", "label", "thinkingLevel", "customType")


def _usage(source: Any) -> Json:
    return {"usageTokens": from_usage(source["usage"])} if "usage" in source else {}


def event_of(event: Json) -> Json:
    """A public event. Only the result of a compaction says more than it has to."""
    if "result" not in event:
        return event
    result = event["result"]
    names = ("summary", "firstKeptEntryId", "tokensBefore", "estimatedTokensAfter", "details")
    return event | {"result": pick(result, *names) | _usage(result)}


def announcement_of(event: Json) -> Json:
    """What extensions hear."""
    name = event["extension"]
    if name == "session_before_compact":
        return _before_compaction(event)
    if name == "session_compact":
        return pick(event, "extension", "reason", "willRetry", "fromExtension") | {
            "entryId": event["compactionEntry"]["id"]
        }
    if name == "session_compact_failed":
        return pick(event, "extension", "reason", "fromExtension", "aborted", "failure")
    return event


def _before_compaction(event: Json) -> Json:
    preparation = event["preparation"]
    names = ("firstKeptEntryId", "isSplitTurn", "tokensBefore", "previousSummary")
    instructions = event["customInstructions"]
    return (
        pick(event, "extension", "reason", "willRetry")
        | ({} if instructions is None else {"customInstructions": instructions})
        | {
            "branchEntries": len(event["branchEntries"]),
            "preparation": pick(preparation, *names)
            | {
                "history": [message["role"] for message in preparation["messagesToSummarize"]],
                "prefix": [message["role"] for message in preparation["turnPrefixMessages"]],
            },
        }
    )
