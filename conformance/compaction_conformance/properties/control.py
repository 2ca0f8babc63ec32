"""Properties of whole sessions: recoveries, retries and compactions come to an end, whatever the provider says."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from compaction_conformance.properties.base import Ask, equal, holds, prop
from compaction_conformance.strategies import overflow_errors, scenarios

_RUN = "control/run"
_ALL = scenarios()


def _trace(ask: Ask, scenario: Any) -> list[Any]:
    trace: list[Any] = ask(_RUN, {"scenario": scenario})["trace"]
    return trace


@prop("CTL-ends", rules="CTL-36 CTL-02", asks=_RUN, given=_ALL, weight=2)
def a_session_comes_to_an_end(ask: Ask, scenario: Any) -> None:
    """Every scenario ends by itself: a script of few replies leads to few requests."""
    trace = _trace(ask, scenario)
    stopped = [item for item in trace if "stopped" in item]
    equal(_RUN, [], stopped, "the session was stopped from outside", "/trace")
    holds("end" in trace[-1], _RUN, "the trace has no end", "/trace", "end", trace[-1:])


@prop("CTL-one-recovery", rules="CTL-36 CTL-38 CTL-39", asks=_RUN, given=_ALL, weight=2)
def one_recovery_a_message(ask: Ask, scenario: Any) -> None:
    """Between two messages of the user, or two answers that did not fail, at most one recovery begins."""
    recoveries = 0
    for item in _trace(ask, scenario):
        line = item.get("entry", {}).get("line", "")
        answered = line.startswith("assistant") and item["entry"].get("stopReason") not in ("error", "length")
        if line.startswith("user") or answered or item.get("do") == "reopen":
            recoveries = 0
        if item.get("extension") == "session_before_compact" and item["reason"] == "overflow" and item["willRetry"]:
            recoveries += 1
        holds(recoveries <= 1, _RUN, "a second recovery", "/trace", 1, recoveries)


@prop("CTL-hopeless", rules="CTL-36 CTL-31", asks=_RUN, given=st.tuples(_ALL, overflow_errors()), weight=2)
def a_hopeless_context_is_given_up(ask: Ask, example: tuple[Any, str]) -> None:
    """When every answer is an overflow, each prompt leads to two requests at most."""
    scenario, error = example
    steps = [step for step in scenario["steps"] if step["do"] in ("prompt", "setEnabled", "usage")]
    replies = [{"error": error, "usage": {}}] * 30
    trace = _trace(ask, {**scenario, "steps": steps, "replies": replies, "summaries": [{"text": "s"}] * 30})
    turns = sum(item.get("request") == "turn" for item in trace)
    prompts = sum(step["do"] == "prompt" for step in steps)
    holds(turns <= 2 * prompts, _RUN, "too many requests", "/trace", 2 * prompts, turns)


@prop("CTL-only-grows", rules="CTL-03 APP-01 CTL-15", asks=_RUN, given=_ALL, weight=2)
def a_session_only_grows(ask: Ask, scenario: Any) -> None:
    """Every entry that is stored has an id of its own and hangs on an entry that was stored before."""
    known: set[Any] = {None}
    for place, item in enumerate(_trace(ask, scenario)):
        if "entry" in item:
            entry = item["entry"]
            holds(entry["parentId"] in known, _RUN, "the parent is not there", f"/trace/{place}/entry/parentId")
            holds(entry["id"] not in known, _RUN, "the id is taken", f"/trace/{place}/entry/id")
            known.add(entry["id"])


@prop("CTL-paired-events", rules="CTL-51 CTL-53", asks=_RUN, given=_ALL, weight=2)
def what_starts_ends(ask: Ask, scenario: Any) -> None:
    """Every start of a compaction, a run or a turn has its end before the next one starts, and every end that tells
    of no failure has its start."""
    pairs = {"compaction_start": "compaction_end", "agent_start": "agent_end", "turn_start": "turn_end"}
    open_ones: set[str] = set()
    for place, item in enumerate(_trace(ask, scenario)):
        event = item.get("event", "")
        if event in pairs:
            holds(event not in open_ones, _RUN, f"{event} twice", f"/trace/{place}/event")
            open_ones.add(event)
        for start, end in pairs.items():
            if event == end:
                begun = start in open_ones or "failure" in item
                holds(begun, _RUN, f"{end} without a start", f"/trace/{place}/event")
                open_ones.discard(start)
    equal(_RUN, [], sorted(open_ones), "something did not end", "/trace")


@prop("CTL-switched-off", rules="CTL-20", asks=_RUN, given=_ALL, weight=2)
def switched_off_nothing_happens(ask: Ask, scenario: Any) -> None:
    """With compaction switched off no compaction begins by itself."""
    settings = {**scenario["settings"], "compaction": {**scenario["settings"]["compaction"], "enabled": False}}
    steps = [step for step in scenario["steps"] if step["do"] not in ("setEnabled", "compact")]
    trace = _trace(ask, {**scenario, "settings": settings, "steps": steps})
    begun = [item for item in trace if item.get("event") == "compaction_start"]
    equal(_RUN, [], begun, "a compaction began", "/trace")


@prop("CTL-calls-answered", rules="CTL-01 CTL-14", asks=_RUN, given=_ALL, weight=2)
def calls_are_answered(ask: Ask, scenario: Any) -> None:
    """Every call that is stored in an answer that did not fail has a result before the turn ends."""
    waiting = 0
    for place, item in enumerate(_trace(ask, scenario)):
        entry = item.get("entry", {})
        line = entry.get("line", "")
        if line.startswith("assistant") and entry.get("stopReason") not in ("error", "aborted"):
            waiting += line.count("call:")
        elif line.startswith("toolResult"):
            waiting -= 1
        elif item.get("event") == "turn_end":
            equal(_RUN, 0, waiting, "a call has no result", f"/trace/{place}")


@prop("CTL-settles", rules="CTL-02 CTL-16", asks=_RUN, given=_ALL, weight=2)
def every_run_settles_once(ask: Ask, scenario: Any) -> None:
    """A session run settles exactly once, after its last run has ended."""
    running, runs = False, 0
    for place, item in enumerate(_trace(ask, scenario)):
        event = item.get("event", "")
        if event == "agent_start":
            running = True
            runs += 1
        elif event == "agent_settled":
            holds(running, _RUN, "settled without a run", f"/trace/{place}/event")
            running = False
    equal(_RUN, False, running, "a run did not settle", "/trace")
