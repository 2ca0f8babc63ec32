"""Summaries from a scripted model: the operations `summary/compact` and `branch/summarize` of this profile."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..scripted import ScriptedModel, Thrown, branch_options
from ..summary import Options, SummaryFailed
from ..types import Entry, Json
from . import branch_summary, summary
from .preparation import prepare


def compact(path: Sequence[Entry], params: Json) -> Json:
    """Prepares the path and summarises. `outcome` holds one of `compaction`, `error`, `aborted` and `nothing`."""
    preparation = prepare(path, params["settings"])
    model = ScriptedModel(params)
    if preparation is None:
        return _answer(model, lambda: {"nothing": True})
    options = Options(params.get("customInstructions"), params.get("thinkingLevel"))
    return _answer(
        model,
        lambda: {"compaction": summary.compact(preparation, params["model"], params["settings"], options, model.ask)},
    )


def summarize_branch(params: Json) -> Json:
    """Summarises entries that are left behind. `outcome` holds one of `branchSummary`, `aborted` and `error`."""
    options = branch_options(params)
    model = ScriptedModel(params)
    return _answer(
        model,
        lambda: {"branchSummary": branch_summary.summarize(params["entries"], params["model"], options, model.ask)},
    )


def _answer(model: ScriptedModel, outcome: Callable[[], Json]) -> Json:
    """What became of it. A failure is an outcome here, so that the requests made are visible."""
    reached: Any
    try:
        reached = outcome()
    except summary.SummaryAborted:
        reached = {"aborted": True}
    except SummaryFailed as failure:
        reached = {"error": {"kind": failure.kind, "message": str(failure)}}
    except Thrown as thrown:
        reached = {"error": {"kind": "thrown", "message": str(thrown)}}
    return {"requests": model.requests, "retries": model.retries, "outcome": reached}
