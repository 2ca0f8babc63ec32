"""Summaries from a scripted model: the operations `summary/compact` and `branch/summarize`.

Replies are given in order, waits are noted and not waited, and every request that was made is part of the answer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import branch_summary, summary
from .ecma import or_null
from .preparation import prepare
from .retry import complete, policy_of
from .types import LAST, Json, Message


class Thrown(Exception):
    """The model call itself broke, before there was a reply. The text is for people."""


class ScriptedModel:
    """Plays replies in order and records `requests` and `retries`. A reply `{"throws": text}` breaks the call, and so
    does a request beyond the last reply."""

    def __init__(self, params: Json) -> None:
        self.requests: list[Json] = []
        self.retries: list[Json] = []
        self._replies = params["replies"]
        self._policy = policy_of(params.get("retry"))
        self._stopped_wait = params.get("abortDuringWait")

    def ask(self, request: summary.Request) -> Message:
        return complete(lambda: self._call(request), self._policy, self._wait)

    def _call(self, request: summary.Request) -> Message:
        self.requests.append(_shown(request))
        if len(self.requests) > len(self._replies):
            raise Thrown("the script holds no reply for this request")
        reply = self._replies[len(self.requests) - 1]
        if isinstance(reply, dict) and "throws" in reply:
            raise Thrown(reply["throws"])
        return reply

    def _wait(self, attempt: int, delay_ms: float) -> bool:
        self.retries.append({"request": len(self.requests) - 1, "attempt": attempt, "delayMs": delay_ms})
        return len(self.retries) != self._stopped_wait


def _shown(request: summary.Request) -> Json:
    before = {"context": list(request.context)} if request.system is None else {"system": request.system}
    reasoning = {} if request.reasoning is None else {"reasoning": request.reasoning}
    return {
        **before,
        "prompt": request.prompt,
        "tools": summary.tools_of(request),
        "maxTokens": or_null(request.max_tokens),
        **reasoning,
        "cacheRetention": request.cache_retention,
        "routingId": request.routing_id,
    }


def compact(params: Json) -> Json:
    """Prepares and summarises. `outcome` holds one of `compaction`, `error` and `nothing`."""
    preparation = prepare(params["entries"], params.get("leafId", LAST), params["settings"])
    model = ScriptedModel(params)
    if preparation is None:
        return answer(model, lambda: {"nothing": True})
    options = summary.Options(params.get("customInstructions"), params.get("thinkingLevel"), _source(params))
    return answer(
        model,
        lambda: {"compaction": summary.compact(preparation, params["model"], params["settings"], options, model.ask)},
    )


def _source(params: Json) -> summary.SourceContext | None:
    source = params.get("sourceContext")
    if source is None:
        return None
    return summary.SourceContext(source["messages"], source["routingId"], source["cacheRetention"])


def summarize_branch(params: Json) -> Json:
    """Summarises entries that are left behind. `outcome` holds one of `branchSummary`, `aborted` and `error`."""
    options = branch_options(params)
    model = ScriptedModel(params)

    def outcome() -> Json:
        stored = branch_summary.summarize(params["entries"], params["model"], options, model.ask)
        return {"aborted": True} if stored is None else {"branchSummary": stored}

    return answer(model, outcome)


def branch_options(params: Json) -> branch_summary.Options:
    return branch_summary.Options(
        params.get("reserveTokens", branch_summary.RESERVE_TOKENS),
        params.get("customInstructions"),
        params.get("replaceInstructions", False),
    )


def answer(model: ScriptedModel, outcome: Callable[[], Json]) -> Json:
    """What became of it. A failure is an outcome here, so that the requests made are visible."""
    reached: Any
    try:
        reached = outcome()
    except summary.SummaryFailed as failure:
        reached = {"error": {"kind": failure.kind, "message": str(failure)}}
    except Thrown as thrown:
        reached = {"error": {"kind": "thrown", "message": str(thrown)}}
    return {"requests": model.requests, "retries": model.retries, "outcome": reached}
