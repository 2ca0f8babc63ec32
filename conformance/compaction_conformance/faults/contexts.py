"""Faults of projection, system state and messages for the model (chapters PRJ, SYS, LLM)."""

from __future__ import annotations

from typing import Any

from compaction_conformance.faults.fault import Fault, edited, given, then
from compaction_conformance.faults.sources import changelog, gh, pi


def _kind(entry: Any) -> Any:
    return entry.get("type") if isinstance(entry, dict) else None


def _at_oldest(right: Any, walk: Any) -> Any:
    """Folds at the first compaction of the path."""
    walked = list(walk)
    places = [place for place, entry in enumerate(walked) if _kind(entry) == "compaction"]
    if not places:
        return right(iter(walked))
    newer = walked[: places[-1]]
    folded = right(iter(walked[places[-1] :]))
    return type(folded)(folded.compaction, folded.kept, [*folded.after, *reversed(newer)])


def _any_branch(right: Any, entries: Any, leaf: Any = None, *rest: Any) -> Any:
    """The newest compaction of the file, on whatever branch, is put on the path where it stands in the file."""
    walked = list(right(entries, leaf, *rest))
    compactions = [entry for entry in entries if _kind(entry) == "compaction"]
    if not walked or not compactions or any(entry is compactions[-1] for entry in walked):
        return iter(walked)
    return iter([walked[0], compactions[-1], *walked[1:]])


def _by_time(messages: Any) -> Any:
    times = [message.get("timestamp") for message in messages if isinstance(message, dict)]
    if not all(isinstance(time, (int, float)) for time in times) or len(times) < len(messages):
        return messages
    return sorted(messages, key=lambda message: message["timestamp"])


def _without_orphans(answer: Any) -> Any:
    """Results whose call is not there are dropped."""
    called: set[Any] = set()
    kept = []
    for message in answer["messages"]:
        if not isinstance(message, dict):
            return answer
        if message.get("role") == "assistant" and isinstance(message.get("content"), list):
            called |= {block.get("id") for block in message["content"] if isinstance(block, dict) and "id" in block}
        if message.get("role") != "toolResult" or message.get("toolCallId") in called:
            kept.append(message)
    return {"messages": kept}


def _named(messages_of: Any, entry: Any) -> Any:
    if _kind(entry) == "session_info":
        return [{"role": "user", "content": str(entry.get("name")), "timestamp": 0}]
    return messages_of(entry)


def _without_snapshot(right: Any, entry: Any) -> Any:
    return right(entry)[-1:] if _kind(entry) == "compaction" else right(entry)


FAULTS = (
    Fault(
        "FLT-fold-oldest",
        ("PRJ-06",),
        pi(1382),
        "pi",
        "the first compaction of the path folds it, and not the newest",
        {"projection.fold": given(_at_oldest)},
        ("000-fold", "002-storage"),
    ),
    Fault(
        "FLT-fold-summary-last",
        ("PRJ-06",),
        gh("NousResearch/hermes-agent/pull/11330"),
        "hermes",
        "the summary comes after what was kept, next to the newest message",
        {
            "projection.Fold.entries": edited(
                "[self.compaction, *self.kept, *self.after]", "[*self.kept, self.compaction, *self.after]"
            )
        },
        ("000-fold",),
    ),
    Fault(
        "FLT-fold-kept-branch-summary",
        ("PRJ-09",),
        changelog(),
        "pi before 0.31.0",
        "a branch summary in the kept tail is left out of the context",
        {
            "projection._kept": edited(
                "if not _is_system_message(each)",
                'if not _is_system_message(each) and members(each).get("type") != "branch_summary"',
            )
        },
    ),
    Fault(
        "FLT-fold-retain-none",
        ("PRJ-07", "PRJ-08"),
        changelog(),
        "pi before 0.87.0",
        "a compaction that names no earlier entry keeps the whole path",
        {"projection._kept": edited("    return []", "    return kept[::-1]")},
        ("000-fold",),
    ),
    Fault(
        "FLT-fold-older-summaries",
        ("PRJ-14",),
        gh("sudoprivacy/sudocode/pull/408"),
        "sudocode, ports of pi 0.86",
        "an older compaction in the kept tail shows its summary again",
        {"projection.project_fold": edited("index > 0 and", "False and")},
    ),
    Fault(
        "FLT-fold-other-branch",
        ("PRJ-12",),
        gh("openclaw/openclaw/issues/48810"),
        "openclaw",
        "a compaction on another branch folds the path",
        {"projection.walk_from": given(_any_branch)},
        ("002-storage",),
    ),
    Fault(
        "FLT-projection-leaf-ignored",
        ("PRJ-01",),
        pi(1781),
        "pi",
        "the model still sees the branch that was left",
        {"projection.walk_from": edited("None if leaf is LAST else index.find(leaf)", "None")},
        ("000-reprojection",),
    ),
    Fault(
        "FLT-projection-by-time",
        ("PRJ-15",),
        pi(1717),
        "pi",
        "messages are put in the order of their times, so that a result can come before its call",
        {"projection.Projection.messages": lambda right: property(lambda self: _by_time(right.fget(self)))},
    ),
    Fault(
        "FLT-projection-repairs",
        ("PRJ-35",),
        gh("NousResearch/hermes-agent/issues/20883"),
        "hermes",
        "the projection drops tool results whose call it does not find",
        {"projection/messages": then(_without_orphans)},
        ("000-entry",),
    ),
    Fault(
        "FLT-projection-metadata",
        ("PRJ-28",),
        pi(2304),
        "pi",
        "the name of the session reaches the model",
        {"projection.messages_of": given(_named)},
        ("000-entry",),
    ),
    Fault(
        "FLT-projection-custom-dropped",
        ("PRJ-21", "PRJ-09"),
        changelog(),
        "pi before 0.31.0",
        "messages of extensions are not shown",
        {"projection.messages_of": edited('if kind == "custom_message":', 'if kind == "custom message":')},
        ("000-entry",),
    ),
    Fault(
        "FLT-projection-empty-branch",
        ("PRJ-24",),
        gh("open-gsd/gsd-pi/pull/118"),
        "gsd-pi",
        "a branch summary without a text is shown",
        {
            "projection.messages_of": edited(
                'if kind == "branch_summary" and truthy(own.get("summary")):', 'if kind == "branch_summary":'
            )
        },
    ),
    Fault(
        "FLT-projection-no-content",
        ("PRJ-17",),
        gh("OpenHands/software-agent-sdk/issues/4591"),
        "openhands, ports of pi",
        "a message without content is passed on as it is and breaks whoever reads it",
        {"projection._repaired": edited('own.get("content") is None', "False")},
    ),
    Fault(
        "FLT-edits-ignored",
        ("PRJ-42", "PRJ-43"),
        gh("PrimeIntellect-ai/prime-agent/issues/900"),
        "prime-agent, ports of pi 0.86",
        "context edits are not applied, so that attempts that failed stay in the context",
        {"projection._edits_among": edited("return edits", "return {}")},
        ("000-edits",),
    ),
    Fault(
        "FLT-edits-first-wins",
        ("PRJ-45",),
        changelog(),
        "pi before 0.87.0",
        "of two edits of one entry the earlier one counts",
        {
            "projection._edits_among": edited(
                'edits[map_key(own.get("targetId"))] = own', 'edits.setdefault(map_key(own.get("targetId")), own)'
            )
        },
        ("000-edits",),
    ),
    Fault(
        "FLT-edits-plain-text",
        ("PRJ-44",),
        changelog(),
        "pi before 0.87.0",
        "a text in place of a tool result stays a text",
        {"projection._IN_BLOCKS": lambda right: ()},
        ("000-edits",),
    ),
    Fault(
        "FLT-edits-whole-message",
        ("PRJ-43",),
        gh("langchain-ai/deepagents/issues/4682"),
        "deepagents",
        "a replacement drops the other fields of a message, the calls and their ids among them",
        {
            "projection._replaced": edited(
                '{name: value for name, value in own.items() if name != "content"} | content',
                '{name: own[name] for name in ("role", "timestamp") if name in own} | content',
            )
        },
    ),
    Fault(
        "FLT-snapshot-lost",
        ("PRJ-27", "SYS-17"),
        pi(9789),
        "pi, ports of 0.86",
        "the system state in a compaction is not shown",
        {"projection.messages_of": given(_without_snapshot)},
        ("000-entry",),
    ),
    Fault(
        "FLT-snapshot-doubled",
        ("PRJ-10",),
        gh("clavia-labs/tardigrade/pull/49"),
        "tardigrade",
        "system messages in the kept tail are shown beside the snapshot that holds them",
        {"projection._kept": edited("if not _is_system_message(each)", "if True")},
        ("000-fold",),
    ),
    Fault(
        "FLT-settings-since-compaction",
        ("PRJ-40",),
        pi(342),
        "pi",
        "what was set before a compaction is lost on resuming",
        {"projection.settings_on": edited("for entry in walk:", "for entry in fold(walk).after[::-1]:")},
    ),
    Fault(
        "FLT-settings-any-branch",
        ("PRJ-38",),
        pi(11451),
        "pi",
        "the thinking level of a branch that was left is restored",
        {"projection/settings": lambda right: lambda params: right({**params, "leafId": _last_id(params)})},
    ),
    Fault(
        "FLT-llm-failed-filtered",
        ("LLM-02",),
        pi(838),
        "pi's providers",
        "answers that failed are left out of the messages already here",
        {"messages._converted": given(lambda right, message: None if _failed(message) else right(message))},
        ("000-llm",),
    ),
    Fault(
        "FLT-llm-summary-unmarked",
        ("LLM-05",),
        gh("anomalyco/opencode/issues/27037"),
        "opencode",
        "a summary reaches the model as if the user had typed it",
        {
            "messages._converted": edited(
                'COMPACTION_PREFIX + string_of(own, "summary") + COMPACTION_SUFFIX', 'string_of(own, "summary")'
            )
        },
        ("000-llm",),
    ),
    Fault(
        "FLT-llm-branch-dropped",
        ("LLM-06",),
        pi(6451),
        "pi",
        "one of several projections forgets branch summaries",
        {"messages._converted": edited('if role == "branchSummary":', 'if role == "branch summary":')},
        ("000-llm",),
    ),
    Fault(
        "FLT-llm-merged",
        ("LLM-03",),
        gh("NousResearch/hermes-agent/pull/11330"),
        "hermes",
        "two user messages in a row become one",
        {"messages/to_llm": then(lambda answer: {"messages": _merged(answer["messages"])})},
        ("000-llm",),
    ),
)


def _failed(message: Any) -> bool:
    return isinstance(message, dict) and message.get("stopReason") in ("error", "aborted")


def _last_id(params: Any) -> Any:
    entries = params["entries"]
    return entries[-1].get("id") if entries and isinstance(entries[-1], dict) else None


def _merged(messages: Any) -> Any:
    merged: list[Any] = []
    for message in messages:
        users = [one.get("role") == "user" for one in (*merged[-1:], message) if isinstance(one, dict)]
        if users == [True, True] and all(isinstance(one["content"], list) for one in (merged[-1], message)):
            merged[-1] = {**merged[-1], "content": merged[-1]["content"] + message["content"]}
        else:
            merged.append(message)
    return merged
