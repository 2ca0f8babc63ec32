"""Sound inputs for the harness's tests, to break on purpose."""

from __future__ import annotations

from typing import Any

VECTOR: dict[str, Any] = {
    "id": "PRJ-retain-none",
    "requirements": ["PRJ-07"],
    "description": "a compaction that names itself keeps nothing",
    "operation": "projection/messages",
    "params": {"entries": []},
    "expect": {"result": {"messages": []}},
    "evidence": {"grade": "observed", "source": "pi 0.87.0"},
}

CASE: dict[str, Any] = {
    "provider": "acme",
    "providerId": "acme",
    "api": "openai-completions",
    "label": "overflow",
    "of": "input",
    "reason": "says so",
    "class": "context-input",
    "disputed": False,
    "evidence": {"grade": "synthetic", "source": "ours", "seen": "2026-11-30"},
}
"""A case of the overflow corpus, but for its id, its response and what Pi answers."""


def plain(status: int, body: str) -> dict[str, Any]:
    """The response of a case."""
    return {"status": status, "headers": {"content-type": "text/plain"}, "body": body}


def vector(**changes: Any) -> dict[str, Any]:
    """A sound vector; `None` removes a member."""
    raw: dict[str, Any] = {
        "id": "TOK-sample",
        "requirements": ["TOK-01"],
        "description": "a sample",
        "operation": "trigger/should_compact",
        "params": {"contextTokens": 5, "contextWindow": 10, "settings": {"enabled": True, "reserveTokens": 1}},
        "expect": {"result": {"compact": False}},
        "evidence": {"grade": "observed", "source": "pi 0.87.0"},
    }
    raw |= changes
    return {key: value for key, value in raw.items() if value is not None}
