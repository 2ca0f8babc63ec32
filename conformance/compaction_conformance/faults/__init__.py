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

NEAR = frozenset(
    f"FLT-{name}"
    for name in (
        "session-old-roles session-written-early session-second-header tree-first-of-two append-no-snapshot "
        "projection-repairs projection-empty-branch projection-no-content edits-whole-message snapshot-lost "
        "snapshot-doubled fold-other-branch llm-merged llm-branch-dropped usage-of-aborted usage-oldest-anchor "
        "usage-total-ignored usage-dropped-by-metadata usage-unknown-window estimate-bytes estimate-code-points "
        "estimate-calls-weightless estimate-kinds-doubled settings-group-replaced settings-unchecked "
        "settings-zero-is-default trigger-share trigger-half-reserve trigger-late trigger-early overflow-rate-limit "
        "overflow-status-429 overflow-good-answers overflow-silent-one-provider overflow-silent-no-cache "
        "overflow-tool-use overflow-length-exact overflow-length-always overflow-no-body-nobody cut-before-budget "
        "cut-above-budget cut-no-split cut-whole-file recovery-cut-stays prepare-system-summarised files-not-carried "
        "files-overlap files-other-tools files-failed-calls summary-previous-lost summary-headings-free "
        "summary-everything-cut summary-whole-reserve summary-quota-repeated summary-no-growth summary-files-lost "
        "summary-context-not-sent branch-oldest-first branch-tool-results branch-custom-ignored branch-lists-lost "
        "branch-aborted-fails branch-other-reserve control-queue-all control-threshold-continues "
        "control-cancel-ignored control-navigation-message-left control-navigation-unasked harness-error-stored "
        "harness-torn-line harness-failed-shown estimate-excluded-bash estimate-damaged summary-aborted-stored "
        "summary-unknown-window classifier-json classifier-markup classifier-numbers classifier-long "
        "classifier-stated classifier-things classifier-filtered classifier-status control-same-millisecond"
    ).split()
)
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
