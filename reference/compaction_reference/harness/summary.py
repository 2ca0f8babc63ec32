"""Summarising what a compaction folds (chapter HSU). Requests are those of chapter SUM; what becomes of the replies is
not: an aborted one ends it, and nobody asks whether a reply is complete.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..ecma import members, pick, string, truthy
from ..file_operations import format_lists
from ..summary import NO_HISTORY, TURN_HEADING, Options, Part, Request, SummaryFailed, added_up, parts, requests_for
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
    raises."""
    history, turn_prefix = parts(requests_for(preparation, model, settings, options), ask, accepted)
    return _result(preparation, _merged(history, turn_prefix))


def _merged(history: Part | None, turn_prefix: Part | None) -> Part:
    """One summary from the parts. Where no history was asked for, a fixed text stands in its place, even where there is
    a previous summary: that one is lost."""
    if turn_prefix is None:
        assert history is not None
        return history
    if history is None:
        return Part(NO_HISTORY + TURN_HEADING + turn_prefix.text, turn_prefix.usage)
    usage = added_up(history.usage, turn_prefix.usage) if truthy(history.usage) else turn_prefix.usage
    return Part(history.text + TURN_HEADING + turn_prefix.text, usage)


def _result(preparation: Json, part: Part) -> Json:
    files = preparation["fileOperations"]
    summary = part.text + format_lists(files["readFiles"], files["modifiedFiles"])
    usage = {} if part.usage is None else {"usage": part.usage}
    return {"summary": summary, **pick(preparation, "tokensBefore", "retainedTail"), **usage, "details": files}
