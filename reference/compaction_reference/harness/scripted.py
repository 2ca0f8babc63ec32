"""Summaries from a scripted model: the operations `summary/compact` and `branch/summarize` of this profile."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..scripted import ScriptedModel, answer, branch_options
from ..summary import Options
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
    """What became of it, and that it was stopped is an outcome too."""

    def reached() -> Json:
        try:
            return outcome()
        except summary.SummaryAborted:
            return {"aborted": True}

    return answer(model, reached)
