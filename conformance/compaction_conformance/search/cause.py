"""What a wrong answer is about: the rule it breaks, the place where it differs first, the class of the failure.

Two failures with the same cause are one finding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from compaction_conformance.expectation import Verdict

_BY_ID = ("children", "labels")  # objects whose names are ids of the example


@dataclass(frozen=True, order=True)
class Cause:
    """`shape` is the pointer to the first difference, as far as the first list on the way, with `*` for its index."""

    requirement: str
    operation: str
    shape: str
    failure: str

    def __str__(self) -> str:
        return f"{self.requirement} {self.operation} {self.shape or '/'} {self.failure}"


def cause_of(verdict: Verdict, operation: str, params: Any, requirement: str = "") -> Cause:
    """The cause of a verdict that is not met. Without a requirement that is known, it is found from what differs."""
    pointer = verdict.difference.pointer if verdict.difference else ""
    rule = requirement or requirement_for(operation, params, pointer, verdict.failure)
    return Cause(rule, operation, shape_of(pointer), verdict.failure)


def shape_of(pointer: str) -> str:
    """Which element of a list or of a map by id differs, and in what, is no other cause: it depends on the example."""
    parts = pointer.split("/")
    own = (place for place, part in enumerate(parts) if part.isdigit() or parts[place - 1] in _BY_ID)
    index = next(own, len(parts))
    return "/".join([*parts[:index], *(["*"] if index < len(parts) else [])])


def requirement_for(operation: str, params: Any, pointer: str, failure: str = "mismatch") -> str:
    """The rule that an answer breaks, as far as operation, input and the place of the difference tell."""
    chooser = _BY_INPUT.get(operation)
    if chooser is not None and (rule := chooser(params, pointer, failure)):
        return rule
    return next(rule for prefix, rule in _BY_PLACE[operation] if pointer.startswith(prefix))


_BY_PLACE: dict[str, tuple[tuple[str, str], ...]] = {
    "session/parse": (("/header/version", "SES-33"), ("/header", "SES-17"), ("/leafId", "TRE-01"), ("", "SES-01")),
    "session/write": (("", "SES-26"),),
    "session/path": (("", "TRE-02"),),
    "session/tree": (("/children", "TRE-15"), ("/labels", "TRE-19"), ("/name", "TRE-21"), ("", "TRE-14")),
    "session/append": (
        ("/entry/systemMessage", "APP-08"),
        ("/entry/firstKeptEntryId", "APP-06"),
        ("/entry/replacement", "APP-20"),
        ("/entry/fromId", "APP-24"),
        ("/entry/name", "APP-28"),
        ("/entry/parentId", "APP-01"),
        ("/entry/id", "APP-01"),
        ("/leafId", "APP-01"),
        ("", "APP-03"),
    ),
    "session/fork": (("/entries", "TRE-26"), ("", "TRE-24")),
    "projection/entries": (("", "PRJ-06"),),
    "projection/messages": (("", "PRJ-05"),),
    "projection/sources": (("", "PRJ-34"),),
    "projection/settings": (("/thinkingLevel", "PRJ-38"), ("", "PRJ-39")),
    "system/current": (
        ("/message/sections", "SYS-04"),
        ("/message/toolsAdded", "SYS-08"),
        ("/message/timestamp", "SYS-13"),
        ("/message/content", "SYS-02"),
        ("/prompt", "SYS-15"),
        ("", "SYS-12"),
    ),
    "messages/to_llm": (("", "LLM-03"),),
    "tokens/from_usage": (("", "TOK-01"),),
    "tokens/of_message": (("", "TOK-06"),),
    "tokens/of_context": (("/lastUsageIndex", "TOK-24"), ("/usageTokens", "TOK-24"), ("", "TOK-26")),
    "tokens/of_projection": (("/lastUsageIndex", "TOK-36"), ("/usageTokens", "TOK-29"), ("", "TOK-34")),
    "tokens/last_usage": (("", "TOK-37"),),
    "tokens/context_usage": (("", "TOK-39"),),
    "settings/resolve": (("/enabled", "SET-05"), ("/error", "SET-08"), ("", "SET-03")),
    "trigger/should_compact": (("", "TRG-01"),),
    "overflow/is_overflow": (("", "OVF-01"),),
    "overflow/is_recoverable_length": (("", "OVF-50"),),
    "overflow/classify": (("", "OVF-01"),),
    "overflow/classify_text": (("", "OVF-01"),),
    "cut/find": (
        ("/firstKeptEntryIndex", "CUT-08"),
        ("/turnStartIndex", "CUT-22"),
        ("/isSplitTurn", "CUT-22"),
        ("", "CUT-05"),
    ),
    "cut/turn_start": (("", "CUT-23"),),
    "compaction/prepare": (
        ("/preparation/firstKeptEntryId", "PRE-16"),
        ("/preparation/messagesToSummarize", "PRE-13"),
        ("/preparation/turnPrefixMessages", "PRE-14"),
        ("/preparation/isSplitTurn", "PRE-14"),
        ("/preparation/tokensBefore", "PRE-22"),
        ("/preparation/previousSummary", "PRE-08"),
        ("/preparation/fileOperations", "FIL-14"),
        ("", "PRE-12"),
    ),
    "files/lists": (("", "FIL-07"),),
    "files/format": (("", "FIL-11"),),
    "summary/serialize": (("", "SUM-02"),),
    "summary/compact": (("/retries", "SUM-65"), ("/requests", "SUM-35"), ("", "SUM-53")),
    "branch/collect": (("/commonAncestorId", "BRS-01"), ("", "BRS-02")),
    "branch/prepare": (("/totalTokens", "BRS-17"), ("/messages", "BRS-12"), ("", "BRS-21")),
    "branch/summarize": (("/retries", "BRS-41"), ("/requests", "BRS-27"), ("", "BRS-34")),
    "branch/settings": (("", "BRS-43"),),
    "retry/is_retryable": (("", "SUM-60"),),
    "retry/settings": (("", "SUM-73"),),
    "control/run": (("", "CTL-02"),),
}


def _of_message(params: Any, pointer: str, failure: str) -> str:
    message = params["message"]
    blocks = message.get("content")
    kinds = {block.get("type") for block in blocks} if isinstance(blocks, list) else set()
    role = message.get("role")
    if role in ("user", "toolResult", "custom"):
        return "TOK-08" if "image" in kinds else "TOK-07"
    if role == "assistant":
        return "TOK-12" if "toolCall" in kinds else "TOK-11"
    if role == "system":
        return "TOK-17" if "toolsAdded" in message else "TOK-16"
    summary_or_run = {"bashExecution": "TOK-14", "branchSummary": "TOK-15", "compactionSummary": "TOK-15"}
    return summary_or_run.get(role, "TOK-18")


def _projection(params: Any, pointer: str, failure: str) -> str:
    types = {entry.get("type") for entry in params["entries"] if isinstance(entry, dict)}
    if "compaction" in types:
        return "PRJ-06"
    return "PRJ-45" if "context_edit" in types else ""


def _to_llm(params: Any, pointer: str, failure: str) -> str:
    roles = {message.get("role") for message in params["messages"]}
    by_role = {
        "compactionSummary": "LLM-05",
        "branchSummary": "LLM-06",
        "custom": "LLM-09",
        "bashExecution": "LLM-13",
    }
    return by_role.get(roles.pop(), "LLM-01") if len(roles) == 1 else ""


def _append(params: Any, pointer: str, failure: str) -> str:
    """A refusal that is missing, or that is not due."""
    if pointer.startswith(("/entry", "/leafId")):
        return ""
    return "APP-17" if params["draft"].get("type") == "context_edit" else "APP-29"


def _parse(params: Any, pointer: str, failure: str) -> str:
    return "SES-15" if pointer.startswith("/error") else ""


def _prepare(params: Any, pointer: str, failure: str) -> str:
    return "PRE-06" if pointer == "/preparation" else ""


_BY_INPUT = {
    "tokens/of_message": _of_message,
    "projection/messages": _projection,
    "messages/to_llm": _to_llm,
    "session/append": _append,
    "session/parse": _parse,
    "compaction/prepare": _prepare,
}
