"""Wrong implementations for the tests of `search`, and one that takes another reading: `python:search_targets:NAME`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from compaction_reference import operations
from wrong import Wrong

Right = Callable[[], Any]


def _parts_pairs(params: Any, right: Right) -> Any:
    """Cuts where the budget is met, be it at a tool result."""
    entries, budget = params["entries"], params["keepRecentTokens"]
    total, index = 0, params["endIndex"]
    while index > params["startIndex"] and total < budget:
        index -= 1
        message = entries[index].get("message")
        total += operations.call("tokens/of_message", {"message": message})["tokens"] if message else 0
    found = right()
    return {**found, "firstKeptEntryIndex": min(index, params["endIndex"] - 1) if entries else 0}


def _trusts_stale_usage(params: Any, right: Right) -> Any:
    """Takes the newest usage, whatever changed the context since."""
    messages = operations.call("projection/messages", params)["messages"]
    return operations.call("tokens/of_context", {"messages": messages})


def _first_edit_wins(params: Any, right: Right) -> Any:
    seen: set[Any] = set()
    entries = []
    for entry in params["entries"]:
        if entry["type"] == "context_edit":
            if entry["targetId"] in seen:
                entry = {**entry, "targetId": "none"}
            seen.add(entry["targetId"])
        entries.append(entry)
    return operations.call("projection/messages", {**params, "entries": entries})


def _clean(params: Any, right: Right) -> Any:
    """The other reading of CUT-25: a cut that joined metadata before the start of a turn splits nothing."""
    found = right()
    kept = params["entries"][found["firstKeptEntryIndex"] :]
    shown = [entry for entry in kept if entry["type"] in ("message", "custom_message", "branch_summary")]
    roles = [entry.get("message", {"role": "custom"})["role"] for entry in shown]
    if roles and roles[0] not in ("assistant", "toolResult", "system"):
        return {**found, "turnStartIndex": -1, "isSplitTurn": False}
    return found


def _loops(params: Any, right: Right) -> Any:
    """A recovery that is tried for ever."""
    trace = right()["trace"]
    recovery = [item for item in trace if item.get("extension") == "session_before_compact"]
    return {"trace": [*trace[:-1], *recovery, *recovery, trace[-1]]}


parts_pairs = Wrong("parts-pairs", cut__find=_parts_pairs)
trusts_stale_usage = Wrong("trusts-stale-usage", tokens__of_projection=_trusts_stale_usage)
first_edit_wins = Wrong("first-edit-wins", projection__messages=_first_edit_wins)
clean_reading = Wrong("clean-reading", cut__find=_clean)
loops = Wrong("loops", control__run=_loops)
