"""Named faults: small wrong implementations, each from a report of a real bug, each caught by a rule that it breaks.

`FAULTS` are all of them by id. A fault is plugged in as any implementation: `--implementation
python:compaction_conformance.faults:plugged.FLT-cut-keeps-all`; `plugged.corrected` follows all advice.
"""

from __future__ import annotations

from compaction_conformance.faults import (
    advised,
    contexts,
    controls,
    corrected,
    counts,
    cuts,
    harnesses,
    overflows,
    sessions,
    summaries,
)
from compaction_conformance.faults.fault import Fault, Patched

__all__ = ["FAULTS", "SEED_CHAPTERS", "Fault", "Patched", "plugged"]

_MODULES = (sessions, contexts, counts, overflows, cuts, summaries, controls, harnesses, advised)

FAULTS: dict[str, Fault] = {fault.id: fault for module in _MODULES for fault in module.FAULTS}

SEED_CHAPTERS = {
    "000-entry": "from entries to messages",
    "000-fold": "the fold",
    "000-edits": "context edits and the final projection",
    "000-reprojection": "projected anew for every request",
    "000-llm": "messages as a model takes them",
    "000-usage": "where the size comes from",
    "000-criterion": "the criterion",
    "000-times": "the three times of the check",
    "000-patterns": "overflow patterns and exclusions",
    "000-recovery": "recovery from an overflow, once",
    "000-prepare": "preparing: the cut",
    "000-generation": "an isolated call of the model",
    "000-commit": "storing and going on",
    "000-manual": "compacting because the user wants it",
    "000-branch": "branch summaries",
    "000-two": "two implementations",
    "001-trigger": "when compaction is due",
    "001-walk": "how it walks the history",
    "001-cut": "rules for cut points",
    "001-split": "split turns",
    "001-format": "the form of a summary",
    "001-entry": "what is stored",
    "001-tree": "branch summaries in the tree",
    "001-hook-compact": "extensions before a compaction",
    "001-hook-tree": "extensions before a navigation",
    "001-settings": "settings",
    "001-cache": "compaction and the prompt cache",
    "002-trigger": "the dynamic threshold",
    "002-estimate": "usage and estimates together",
    "002-cut": "safe cuts",
    "002-split": "one very long turn",
    "002-summary": "the structured summary",
    "002-incremental": "several compactions build on each other",
    "002-files": "files that were read and changed",
    "002-cache": "sending the live context on",
    "002-storage": "what is stored and what is shown",
}
"""The chapters of the three documents that the rules were first written from, numbered in their order."""


class _Plugged:
    """Implementations by the id of their fault, for `python:` on the command line."""

    def __getattr__(self, name: str) -> Patched:
        if name == "corrected":
            return corrected.corrected()
        if name not in FAULTS:
            raise AttributeError(f"no fault is called {name}")
        return FAULTS[name].implementation()


plugged = _Plugged()
