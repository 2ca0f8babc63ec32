"""Sound inputs for the harness's tests, to break on purpose."""

from __future__ import annotations

from typing import Any


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
