"""Summarising what a compaction folds (chapter HSU). Requests are those of chapter SUM; what becomes of the replies is
not: an aborted one ends it, and nobody asks whether a reply is complete.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..ecma import members, string, truthy
from ..summary import Options, Part, Request, SummaryFailed, merged, parts, requests_for, result
from ..system import content_text
from ..types import Json, Message


class SummaryAborted(Exception):
    """The user stopped the model; nothing is stored."""


def accepted(reply: Message, what: str) -> Part:
    """The text of a reply, as it is, tool calls or not, whole or cut off. Raises `SummaryAborted` for an aborted reply
    and `SummaryFailed` for one that is an error."""
    own = members(reply)
    if own.get("stopReason") == "aborted":
        raise SummaryAborted(f"{what} was stopped")
    if own.get("stopReason") == "error":
        reason = string(own["errorMessage"]) if truthy(own.get("errorMessage")) else "no reason given"
        raise SummaryFailed("failed", f"{what} failed: {reason}")
    return Part(content_text(own.get("content")), own.get("usage"))


def compact(preparation: Json, model: Any, settings: Any, options: Options, ask: Callable[[Request], Message]) -> Json:
    """The compaction of a preparation: `summary`, `tokensBefore`, `retainedTail`, `usage`, `details`. The history is
    asked for first, and when that fails nothing more is. Raises `SummaryFailed`, `SummaryAborted`, and whatever `ask`
    raises. Where no history was asked for, a previous summary is lost."""
    history, turn_prefix = parts(requests_for(preparation, model, settings, options), ask, accepted)
    part = merged({**preparation, "previousSummary": None}, history, turn_prefix)
    return result(preparation, part, kept="retainedTail")
