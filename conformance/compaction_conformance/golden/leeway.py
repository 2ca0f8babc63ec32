"""Answers that the rules leave open: where a QUIRK or a SHOULD decides, an implementation may answer otherwise than Pi.

Found when the oracle's answers are recorded, from those answers alone. A recorded answer that is left open holds the id
of the rule instead of a digest, and is not judged.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from compaction_conformance.expectation import Reply, Result
from compaction_conformance.golden.questions import Material, Point, Question
from compaction_conformance.golden.sessions import path_of
from compaction_conformance.implementation import Request

Ask = Callable[[Request], Reply]

_TURN_ROLES = ("user", "bashExecution", "custom", "branchSummary", "compactionSummary")
_TURN_TYPES = ("custom_message", "branch_summary")
_HIDDEN_RUN = {
    "tokens/of_projection": "TOK-22",
    "tokens/context_usage": "TOK-22",
    "cut/find": "CUT-26",
    "compaction/prepare": "PRE-33",
}


def open_rule(question: Question, request: Request, reply: Reply, point: Point, material: Material, ask: Ask) -> str:
    """The id of the rule that leaves the answer open, or an empty text."""
    if not isinstance(reply, Result):
        return ""
    if question.operation == "session/tree":
        ids = [entry.get("id") for entry in material.entries[: point.length]]
        return "TRE-17" if len(set(ids)) < len(ids) else ""
    if question.operation == "messages/to_llm":
        return "LLM-25" if has_stray_result(reply.value["messages"]) else ""
    if rule := _HIDDEN_RUN.get(question.operation, ""):
        if _outline(reply) != _outline(_without_hidden_runs(question, point, material, ask)):
            return rule
        if question.operation == "cut/find":
            return _open_cut(reply.value, path_of(material.entries[: point.length], point.leaf_id))
        if question.operation == "compaction/prepare" and reply.value["preparation"]:
            return _open_preparation(reply.value["preparation"], request, ask)
    return ""


def has_stray_result(messages: Sequence[Any]) -> bool:
    """Whether a tool result stands there without a call with its id before it."""
    called: set[str] = set()
    for message in messages:
        if message.get("role") == "assistant":
            called |= {block.get("id") for block in message.get("content") or [] if block.get("type") == "toolCall"}
        elif message.get("role") == "toolResult" and message.get("toolCallId") not in called:
            return True
    return False


def _without_hidden_runs(question: Question, point: Point, material: Material, ask: Ask) -> Reply:
    """The same question when shell runs that the model never sees weigh nothing."""
    weightless = Material([_weightless(entry) for entry in material.entries])
    return ask(next(iter(weightless.requests(point, [question])))[1])


def _weightless(entry: Any) -> Any:
    message = entry.get("message")
    if not isinstance(message, dict) or message.get("role") != "bashExecution" or not message.get("excludeFromContext"):
        return entry
    return {**entry, "message": {**message, "command": "", "output": ""}}


def _outline(reply: Reply) -> str:
    """What of an answer may not depend on the weight of hidden runs; the messages of a preparation by their number."""
    value = reply.value if isinstance(reply, Result) else reply.shown()
    if isinstance(value, dict) and isinstance(value.get("preparation"), dict):
        value = {
            name: len(item) if name.endswith(("Messages", "Summarize")) else item
            for name, item in value["preparation"].items()
        }
    return json.dumps(value, sort_keys=True)


def _open_cut(cut: Any, path: Sequence[Any]) -> str:
    kept = path[cut["firstKeptEntryIndex"] :]
    if cut["isSplitTurn"] and _starts_turn_after_metadata(kept):
        return "CUT-25"
    messages = [entry["message"] for entry in kept if isinstance(entry.get("message"), dict)]
    return "CUT-29" if has_stray_result(messages) else ""


def _open_preparation(preparation: Any, request: Request, ask: Ask) -> str:
    """The kept part is what the projection shows from the first kept entry on."""
    params = json.loads(request.params_text)
    state = json.dumps({"entries": params["entries"], "leafId": params["leafId"]}, separators=(",", ":"))
    sources, messages = ask(Request("projection/sources", state)), ask(Request("projection/messages", state))
    if not isinstance(sources, Result) or not isinstance(messages, Result):
        return ""
    listed = sources.value["sources"]
    ids = [source["id"] for source in listed]
    first = ids.index(preparation["firstKeptEntryId"]) if preparation["firstKeptEntryId"] in ids else len(ids)
    shown = sum(source["messages"] for source in listed[:first])
    kept = messages.value["messages"][shown:]
    if preparation["isSplitTurn"] and listed[first]["messages"] == 0 and kept and kept[0].get("role") in _TURN_ROLES:
        return "PRE-30"
    return "PRE-34" if has_stray_result(kept) else ""


def _starts_turn_after_metadata(kept: Sequence[Any]) -> bool:
    """Whether the first entry shows nothing, and the first one that shows something begins a turn."""
    if not kept or _shows(kept[0]):
        return False
    first: Any = next((entry for entry in kept if _shows(entry)), {})
    return first.get("type") in _TURN_TYPES or first.get("message", {}).get("role") in _TURN_ROLES


def _shows(entry: Any) -> bool:
    return entry.get("type") in ("message", *_TURN_TYPES, "compaction")
