"""Faults of cut points, preparation and file lists (chapters CUT, PRE, FIL)."""

from __future__ import annotations

from typing import Any

from compaction_conformance.faults.fault import Fault, always, edited, given, then
from compaction_conformance.faults.sources import changelog, gh, pi


def _tokens_of_part(prepared: Any) -> Any:
    from compaction_reference.tokens import of_message

    if prepared is None:
        return None
    parts = (*prepared["messagesToSummarize"], *prepared["turnPrefixMessages"])
    return {**prepared, "tokensBefore": sum(map(of_message, parts))}


def _read_and_modified(right: Any, self: Any) -> Any:
    lists = right(self)
    return {**lists, "readFiles": sorted({*self.read.values(), *lists["readFiles"]}, key=str)}


def _below_budget(right: Any, entries: Any, leaf: Any, settings: Any) -> Any:
    prepared = right(entries, leaf, settings)
    if prepared is None or not isinstance(settings, dict):
        return prepared
    return None if (prepared["tokensBefore"] or 0) <= settings.get("keepRecentTokens", 0) else prepared


def _named_by_place(right: Any, entries: Any, leaf: Any, settings: Any) -> Any:
    """The place of the cut in the projection is looked up among the raw entries."""
    prepared = right(entries, leaf, settings)
    ids = [entry.get("id") for entry in entries if isinstance(entry, dict)]
    if prepared is None or prepared["firstKeptEntryId"] not in ids:
        return prepared
    after = sum(isinstance(entry, dict) and entry.get("type") in ("context_edit", "compaction") for entry in entries)
    place = max(ids.index(prepared["firstKeptEntryId"]) - after, 0)
    return {**prepared, "firstKeptEntryId": ids[place]}


def _failed_results(right: Any, messages: Any, *rest: Any) -> Any:
    failed = {
        message.get("toolCallId")
        for message in messages
        if isinstance(message, dict) and message.get("role") == "toolResult" and message.get("isError")
    }
    return right([_without_calls(message, failed) for message in messages], *rest)


def _without_calls(message: Any, ids: Any) -> Any:
    if not isinstance(message, dict) or not isinstance(message.get("content"), list):
        return message
    blocks = [block for block in message["content"] if not (isinstance(block, dict) and block.get("id") in ids)]
    return {**message, "content": blocks}


FAULTS = (
    Fault(
        "FLT-cut-at-tool-result",
        ("CUT-01",),
        gh("openclaw/openclaw/issues/9672"),
        "openclaw",
        "a tool result can be the first message that is kept, without its call",
        {"cut_point._CUT_POINTS": lambda right: right | {"toolResult"}},
        ("000-prepare", "001-cut", "002-cut"),
    ),
    Fault(
        "FLT-cut-keeps-all",
        ("CUT-09",),
        pi(9740),
        "pi before 0.85, pi's other implementation, nearly every port",
        "where tool results at the end alone exceed the budget, everything is kept",
        {"cut_point.find_projected": edited("candidates[-1])", "candidates[0])")},
        ("002-cut", "000-two"),
    ),
    Fault(
        "FLT-cut-past-the-end",
        ("CUT-09", "CUT-08"),
        gh("NousResearch/hermes-agent/issues/75588"),
        "hermes",
        "the cut lies behind the last entry where only tool results follow",
        {"cut_point.find_projected": edited("candidates[-1])", "len(entries))")},
    ),
    Fault(
        "FLT-cut-turn-starts-only",
        ("CUT-01",),
        gh("iamclancyliang/pi-go/issues/26"),
        "pi-go",
        "only the start of a turn can be cut at, so that one long turn is never compacted",
        {"cut_point._CUT_POINTS": lambda right: right - {"assistant"}},
        ("002-split", "001-split"),
    ),
    Fault(
        "FLT-cut-users-only",
        ("CUT-02", "CUT-01"),
        gh("mcheemaa/mistri/pull/29"),
        "mistri",
        "only a user's message starts a turn",
        {"cut_point._TURN_STARTS": lambda right: frozenset({"user"})},
    ),
    Fault(
        "FLT-cut-custom-ignored",
        ("CUT-01", "CUT-03"),
        changelog(),
        "pi before 0.31.0",
        "branch summaries and messages of extensions are no cut points",
        {"cut_point._CUT_POINTS": lambda right: right - {"custom", "branchSummary"}},
        ("001-cut",),
    ),
    Fault(
        "FLT-cut-before-budget",
        ("CUT-08",),
        gh("tailcallhq/forgecode/pull/984"),
        "forgecode, ports of pi",
        "the cut is the last cut point before the budget is met, and not the first from there on",
        {
            "cut_point.find_projected": edited(
                "next((index for index in candidates if index >= reached), candidates[-1])",
                "next((index for index in reversed(candidates) if index <= reached), candidates[-1])",
            )
        },
    ),
    Fault(
        "FLT-cut-above-budget",
        ("CUT-07",),
        gh("nearai/ironclaw/pull/4110"),
        "ironclaw",
        "the budget is met only when the sum exceeds it",
        {"cut_point._budget_reached_at": edited("total >= keep_recent_tokens", "total > keep_recent_tokens")},
        ("000-prepare", "001-walk"),
    ),
    Fault(
        "FLT-cut-custom-weightless",
        ("CUT-13",),
        pi(6326),
        "pi, pi's other implementation",
        "entries that are no messages weigh nothing for the budget",
        {
            "cut_point._budget_reached_at": edited(
                "tokens = sum(map(of_message, entries[index].messages))",
                'is_message = members(entries[index].source).get("type") == "message"\n'
                "        tokens = sum(map(of_message, entries[index].messages)) if is_message else 0",
            )
        },
    ),
    Fault(
        "FLT-cut-nothing-kept",
        ("CUT-12",),
        gh("gwenlake/gwenflow/pull/125"),
        "gwenflow",
        "with a budget of zero nothing is kept, the user's only message included",
        {
            "cut_point.find_projected": given(
                lambda right, entries, budget, **more: (
                    _all_of(right, entries) if budget == 0 else right(entries, budget, **more)
                )
            )
        },
    ),
    Fault(
        "FLT-cut-metadata-left",
        ("CUT-18",),
        changelog(),
        "pi before 0.87.0",
        "entries without messages right before the cut are left behind",
        {"cut_point.find_projected": edited("while cut > 0 and", "while False and")},
    ),
    Fault(
        "FLT-cut-whole-file",
        ("CUT-23",),
        changelog(),
        "pi before 0.31.0",
        "the search for a turn start goes on before the start of its range",
        {"cut_point.turn_start": edited("range(index, start - 1, -1)", "range(index, -1, -1)")},
    ),
    Fault(
        "FLT-cut-no-split",
        ("CUT-22", "PRE-14"),
        gh("earendil-works/pi/issues/738"),
        "pi",
        "a cut inside a turn is not seen as a split, so that its first part is history",
        {"cut_point.find_projected": edited("return CutPoint(cut, next(starts, -1))", "return CutPoint(cut)")},
        ("001-split", "002-split"),
    ),
    Fault(
        "FLT-recovery-unsent-input",
        ("PRE-27",),
        gh("coder/coder/pull/28645"),
        "coder",
        "a user's message that was not answered yet is summarised away",
        {
            "cut_point._is_omitted_attempt": edited(
                "    if not any(_is_omitted_assistant(entry) for entry in suffix):\n        return False\n", ""
            )
        },
        ("000-recovery",),
    ),
    Fault(
        "FLT-recovery-visible-follows",
        ("PRE-28",),
        changelog(),
        "pi before 0.87.0",
        "the cut moves past an input although messages that the model sees follow it",
        {
            "cut_point._is_omitted_attempt": edited(
                "not entry.is_compaction and (_is_omitted(entry) or not messages_of(entry.source))",
                "True",
            )
        },
    ),
    Fault(
        "FLT-recovery-replacement-follows",
        ("PRE-29",),
        changelog(),
        "pi before 0.87.0",
        "the cut moves past an input although something else was replaced after it",
        {"cut_point._replaces_other": always(False)},
    ),
    Fault(
        "FLT-recovery-cut-stays",
        ("PRE-25",),
        gh("futuregene/future-os/pull/28"),
        "future-os",
        "an input whose attempt was omitted is always kept, so that nothing gets smaller",
        {"cut_point._is_omitted_attempt": always(False)},
        ("000-recovery",),
    ),
    Fault(
        "FLT-prepare-since-compaction",
        ("PRE-07", "PRE-09"),
        pi(2608),
        "pi, ports",
        "what the first compaction kept is lost at the second one",
        {"preparation.prepare": edited("since = since[1:]  #", "since = since[len(since) - len(folded.after) :]  #")},
        ("001-walk",),
    ),
    Fault(
        "FLT-prepare-no-previous-summary",
        ("PRE-08",),
        gh("dyad-sh/dyad/pull/2515"),
        "dyad",
        "the summary before is not part of the new one, so that everything older is forgotten",
        {"preparation.prepare": edited('"previousSummary": previous.get("summary"),', '"previousSummary": None,')},
        ("002-incremental", "001-walk"),
    ),
    Fault(
        "FLT-prepare-tokens-of-part",
        ("PRE-22",),
        gh("can1357/oh-my-pi/issues/9585"),
        "oh-my-pi",
        "the size before the compaction is that of what is summarised",
        {"preparation.prepare": then(_tokens_of_part)},
        ("000-prepare", "001-entry"),
    ),
    Fault(
        "FLT-prepare-empty",
        ("PRE-06",),
        pi(4811),
        "pi",
        "a session with nothing to summarise is summarised",
        {"preparation.prepare": edited("if not history and not turn_prefix:", "if False:")},
    ),
    Fault(
        "FLT-prepare-twice",
        ("PRE-04",),
        gh("mikeyobrien/pi-tidy-tools/pull/72"),
        "pi-tidy-tools",
        "a session that was just compacted is prepared again",
        {"preparation.prepare": edited("if not folded.after:", "if not folded.entries:")},
    ),
    Fault(
        "FLT-prepare-off-by-one",
        ("PRE-13", "PRE-16"),
        gh("nearai/ironclaw/pull/4110"),
        "ironclaw",
        "the first message that is kept is summarised too",
        {
            "preparation.prepare": edited(
                "history_end = cut.turn_start if cut.splits_turn else cut.first_kept",
                "history_end = cut.turn_start if cut.splits_turn else cut.first_kept + 1",
            )
        },
    ),
    Fault(
        "FLT-prepare-gate",
        ("PRE-12",),
        gh("openpi-dev/openpi/issues/24"),
        "openpi, a port of pi",
        "nothing is prepared while the context is within the budget of what is kept",
        {"preparation.prepare": given(_below_budget)},
    ),
    Fault(
        "FLT-prepare-by-place",
        ("PRE-16",),
        gh("clavia-labs/tardigrade/pull/49"),
        "tardigrade",
        "a place in the projection is used as a place among the raw entries",
        {"preparation.prepare": given(_named_by_place)},
    ),
    Fault(
        "FLT-prepare-edits-ignored",
        ("PRE-17", "PRE-18"),
        changelog(),
        "pi before 0.87.0",
        "what was edited out is summarised",
        {"preparation.project_fold": given(lambda right, folded: _unedited(right(folded)))},
    ),
    Fault(
        "FLT-prepare-system-summarised",
        ("PRE-19",),
        gh("earendil-works/pi/issues/9789"),
        "pi",
        "the system prompt is part of what is summarised",
        {"preparation._conversation": edited('if members(message).get("role") != "system"', "if True")},
    ),
    Fault(
        "FLT-files-not-carried",
        ("FIL-15", "FIL-09"),
        gh("PrimeIntellect-ai/prime-agent/pull/2385"),
        "prime-agent, ports of pi",
        "the lists of the compaction before are lost",
        {"file_operations.FileOperations.add_details": always(None)},
        ("002-files", "001-format"),
    ),
    Fault(
        "FLT-files-overlap",
        ("FIL-07",),
        pi(9945),
        "ports of pi",
        "a file that was changed is listed as read too",
        {"file_operations.FileOperations.lists": given(_read_and_modified)},
        ("002-files",),
    ),
    Fault(
        "FLT-files-failed-calls",
        ("FIL-06",),
        gh("OpenHands/software-agent-sdk/pull/432"),
        "openhands",
        "calls that failed name no files",
        {"file_operations.file_lists": given(_failed_results)},
    ),
    Fault(
        "FLT-files-other-tools",
        ("FIL-02",),
        pi(9945),
        "ports of pi",
        "listing and searching count as reading",
        {
            "file_operations.FileOperations.add_message": edited(
                'block.get("name") == "read"', 'block.get("name") in ("read", "ls", "grep", "find", "glob")'
            )
        },
    ),
)


def _all_of(right: Any, entries: Any) -> Any:
    cut = right(entries, float("inf"))
    return type(cut)(len(entries))


def _unedited(projected: Any) -> Any:
    from compaction_reference.projection import messages_of

    entries = [
        entry
        if entry.messages == [] and entry.source.get("type") == "compaction"
        else entry._replace(messages=messages_of(entry.source))
        for entry in projected.entries
    ]
    return type(projected)(entries, projected.since)
