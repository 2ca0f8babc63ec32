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

__all__ = ["FAULTS", "NEAR", "SEED_CHAPTERS", "Fault", "Patched", "plugged"]

_MODULES = (sessions, contexts, counts, overflows, cuts, summaries, controls, harnesses, advised)

FAULTS: dict[str, Fault] = {fault.id: fault for module in _MODULES for fault in module.FAULTS}

_NEAR = """
append-no-snapshot branch-aborted-fails branch-custom-ignored branch-lists-lost branch-oldest-first
branch-other-reserve branch-tool-results classifier-filtered classifier-json classifier-long classifier-markup
classifier-numbers classifier-stated classifier-status classifier-things control-cancel-ignored
control-navigation-message-left control-navigation-unasked control-queue-all control-same-millisecond
control-threshold-continues cut-above-budget cut-before-budget cut-no-split cut-whole-file edits-whole-message
estimate-bytes estimate-calls-weightless estimate-code-points estimate-damaged estimate-excluded-bash
estimate-kinds-doubled files-failed-calls files-not-carried files-other-tools files-overlap fold-other-branch
harness-error-stored harness-failed-shown harness-torn-line llm-branch-dropped llm-merged
overflow-good-answers overflow-length-always overflow-length-exact overflow-no-body-nobody overflow-rate-limit
overflow-silent-no-cache overflow-silent-one-provider overflow-status-429 overflow-tool-use
prepare-system-summarised projection-empty-branch projection-no-content projection-repairs recovery-cut-stays
session-old-roles session-second-header session-written-early settings-group-replaced settings-unchecked
settings-zero-is-default snapshot-doubled snapshot-lost summary-aborted-stored summary-context-not-sent
summary-everything-cut summary-files-lost summary-headings-free summary-no-growth summary-previous-lost
summary-quota-repeated summary-unknown-window summary-whole-reserve tree-first-of-two trigger-early
trigger-half-reserve trigger-late trigger-share usage-dropped-by-metadata usage-of-aborted usage-oldest-anchor
usage-total-ignored usage-unknown-window
"""

NEAR = frozenset(f"FLT-{name}" for name in _NEAR.split())
"""Faults whose report is of a neighbouring bug: the same rule area, another slip."""

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
