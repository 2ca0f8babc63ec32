"""Faults of Pi's other implementation of compaction (chapters HSE, HCO, HSU)."""

from __future__ import annotations

from compaction_conformance.faults.fault import Fault, edited
from compaction_conformance.faults.sources import gh, pi

FAULTS = (
    Fault(
        "FLT-harness-kept-lost",
        ("HCO-02",),
        pi(2608),
        "pi",
        "the messages that a compaction keeps are not shown",
        {
            "harness.context.messages_of": edited(
                '[summary_message(own), *filter(_is_shown, iterate(own.get("retainedTail")))]', "[summary_message(own)]"
            )
        },
        ("000-two",),
        "harness",
    ),
    Fault(
        "FLT-harness-kept-not-prepared",
        ("HCO-40",),
        pi(2608),
        "pi",
        "what the last compaction kept is lost at the next one",
        {
            "harness.preparation._since": edited(
                "return [*kept, *path[compaction_at + 1 :]]", "return path[compaction_at + 1 :]"
            )
        },
        ("000-two",),
        "harness",
    ),
    Fault(
        "FLT-harness-failed-shown",
        ("HCO-04",),
        pi(838),
        "pi",
        "answers that failed are shown to the model",
        {"harness.context._is_shown": edited('or own.get("stopReason") not in _HIDDEN_STOP_REASONS', "or True")},
        (),
        "harness",
    ),
    Fault(
        "FLT-harness-at-tool-result",
        ("HCO-19",),
        gh("openclaw/openclaw/issues/9672"),
        "openclaw",
        "a tool result can be the first message that is kept",
        {"harness.cut_point._CUT_ROLES": lambda right: (*right, "toolResult")},
        ("002-cut",),
        "harness",
    ),
    Fault(
        "FLT-harness-error-stored",
        ("HSU-16",),
        gh("langchain-ai/langchain/pull/38932"),
        "langchain",
        "a reply that is an error is stored as a summary",
        {"harness.summary.accepted": edited('if own.get("stopReason") == "error":', "if False:")},
        (),
        "harness",
    ),
    Fault(
        "FLT-harness-torn-line",
        ("HSE-07",),
        pi(8575, "pull"),
        "pi",
        "an unfinished last line makes the whole session unreadable",
        {
            "harness.session_file.open_file": edited(
                'finished = lines.pop() == ""', 'finished = lines[-1] == "" and lines.pop() == ""'
            )
        },
        (),
        "harness",
    ),
)
