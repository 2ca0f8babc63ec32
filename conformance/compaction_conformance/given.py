"""Facts about a request that the suite computes by itself, so that a vector cannot lose its point unnoticed.

Nothing here asks the reference: a fact is plain counting over the params.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from functools import cache
from typing import Any

from compaction_conformance.errors import InvalidInput
from compaction_conformance.json_files import read_json
from compaction_conformance.paths import spec_dir


def computed_facts(params: dict[str, Any]) -> dict[str, Any]:
    """Every fact that the params allow to compute, by name."""
    facts: dict[str, Any] = {}
    if isinstance(params.get("entries"), list):
        facts |= _facts_of_entries(params["entries"], params)
    if isinstance(params.get("messages"), list):
        messages = [message for message in params["messages"] if isinstance(message, dict)]
        facts |= {"messages": len(params["messages"]), "roles": [message.get("role") for message in messages]}
    if isinstance(params.get("message"), dict):
        facts |= _facts_of_message(params["message"])
    if isinstance(params.get("content"), str):
        facts |= _facts_of_file(params["content"])
    if isinstance(params.get("draft"), dict):
        facts["draftType"] = params["draft"].get("type")
    return facts


def _facts_of_entries(raw: list[Any], params: dict[str, Any]) -> dict[str, Any]:
    entries = [entry for entry in raw if isinstance(entry, dict)]
    ids = [json.dumps(entry.get("id")) for entry in entries]
    known = set(ids)
    parents = {json.dumps(entry.get("parentId")) for entry in entries}
    named = [json.dumps(entry["parentId"]) for entry in entries if entry.get("parentId")]
    path = _path(entries, params)
    compactions = [index for index, entry in enumerate(path) if entry.get("type") == "compaction"]
    newest = compactions[-1] if compactions else None
    messages = [entry.get("message") for entry in path if entry.get("type") == "message"]
    return {
        "entries": len(raw),
        "pathEntries": len(path),
        "compactionsOnPath": len(compactions),
        "entriesBeforeCompaction": newest if newest is not None else None,
        "entriesAfterCompaction": len(path) - newest - 1 if newest is not None else None,
        "editsOnPath": sum(entry.get("type") == "context_edit" for entry in path),
        "branches": sum(name not in parents for name in ids),
        "roots": len(entries) - sum(parent in known for parent in named),
        "rolesOnPath": [message.get("role") if isinstance(message, dict) else None for message in messages],
        "leafType": path[-1].get("type") if path else None,
        "duplicateIds": sum(count > 1 for count in Counter(ids).values()),
        "missingParents": sum(parent not in known for parent in named),
    }


def _path(entries: list[dict[str, Any]], params: dict[str, Any]) -> list[dict[str, Any]]:
    """Root to leaf; it ends at an entry met before, so that a cycle of parents is counted once."""
    if params.get("leafId", "") is None or not entries:
        return []
    index = {json.dumps(entry.get("id")): entry for entry in entries}
    entry = index.get(json.dumps(params.get("leafId"))) if params.get("leafId") else None
    path: list[dict[str, Any]] = []
    seen: set[int] = set()
    step: dict[str, Any] | None = entry or entries[-1]
    while step is not None and id(step) not in seen:
        seen.add(id(step))
        path.append(step)
        parent = step.get("parentId")
        step = index.get(json.dumps(parent)) if parent else None
    return path[::-1]


def _facts_of_message(message: dict[str, Any]) -> dict[str, Any]:
    texts = _texts(message.get("content"))
    usage: Any = message.get("usage")
    facts: dict[str, Any] = {
        "role": message.get("role"),
        "stopReason": message.get("stopReason"),
        "utf16Units": sum(len(text.encode("utf-16-le", "surrogatepass")) // 2 for text in texts),
        "codePoints": sum(len(text) for text in texts),
    }
    if isinstance(message.get("errorMessage"), str):
        facts |= {
            "matchingPatterns": _matches("patterns", message["errorMessage"]),
            "matchingExclusions": _matches("exclusions", message["errorMessage"]),
        }
    parts = [usage.get("input"), usage.get("cacheRead")] if isinstance(usage, dict) else []
    numbers = [part for part in parts if isinstance(part, (int, float))]
    if len(numbers) == 2:
        facts["inputTokens"] = sum(numbers)
    return facts


def _texts(content: Any) -> list[str]:
    if isinstance(content, str):
        return [content]
    if not isinstance(content, list):
        return []
    blocks = [block for block in content if isinstance(block, dict)]
    values = [block.get(key) for block in blocks for key in ("text", "thinking")]
    return [value for value in values if isinstance(value, str)]


def _facts_of_file(content: str) -> dict[str, Any]:
    lines = content.split("\n")
    if lines[-1] == "":
        lines.pop()
    values = [_parsed(line) for line in lines if line.strip()]
    header = next((value for value in values if isinstance(value, dict)), {})
    return {
        "lines": len(lines),
        "malformedLines": sum(value is _MALFORMED for value in values),
        "endsWithNewline": content.endswith("\n"),
        "headerVersion": header.get("version"),
    }


_MALFORMED = object()


def _parsed(line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return _MALFORMED


def _matches(table: str, text: str) -> list[str]:
    return [name for name, pattern in _patterns(table) if pattern.search(text)]


@cache
def _patterns(table: str) -> list[tuple[str, re.Pattern[str]]]:
    path = spec_dir() / "overflow-patterns.json"
    data = read_json(path)
    try:
        return [(row["id"], re.compile(row["regex"], re.IGNORECASE | re.ASCII)) for row in data[table]]
    except (KeyError, TypeError, re.error):
        what = f"not a pattern table with {table}"
        raise InvalidInput(what, where=str(path), remedy="reinstall the package") from None
