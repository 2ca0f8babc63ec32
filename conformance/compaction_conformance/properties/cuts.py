"""Properties of the cut. What an entry weighs is asked of the implementation itself, so that a port with another
tokenizer is judged by its cuts."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from compaction_conformance.properties.base import Ask, equal, holds, prop
from compaction_conformance.properties.facts import may_be_cut_at, shown_by, starts_turn, weights
from compaction_conformance.strategies import Session, sessions

_FIND, _START, _WEIGH = "cut/find", "cut/turn_start", "tokens/of_message"
_BUDGETS = st.integers(0, 60)
_CASES = st.tuples(sessions(branches=False), _BUDGETS)
_RANGES = st.tuples(sessions(branches=False), _BUDGETS, st.integers(0, 9), st.integers(0, 9))


def _find(ask: Ask, entries: Any, budget: int, start: int = 0, end: int | None = None) -> Any:
    last = len(entries) if end is None else end
    bounds = {"startIndex": start, "endIndex": last, "keepRecentTokens": budget}
    return ask(_FIND, {"entries": list(entries), **bounds})


def _first_shown(entries: Any, index: int, end: int) -> Any:
    """The first entry from an index on that stands for a message; what is before it joined the cut."""
    return next((entry for entry in entries[index:end] if shown_by(entry)), None)


@prop("CUT-range", rules="CUT-05 CUT-21", asks=_FIND, given=_RANGES)
def a_cut_stays_in_its_range(ask: Ask, example: tuple[Session, int, int, int]) -> None:
    """A cut lies inside the range that was searched, and so does the start of the turn that it splits."""
    session, budget, start, length = example
    start = min(start, len(session.entries))
    end = min(start + length, len(session.entries))
    found = _find(ask, session.entries, budget, start, end)
    cut, turn = found["firstKeptEntryIndex"], found["turnStartIndex"]
    holds(start <= cut <= max(start, end - 1), _FIND, "the cut is outside", "/firstKeptEntryIndex", [start, end], cut)
    holds(turn == -1 or start <= turn <= cut, _FIND, "the turn start is outside", "/turnStartIndex", [start, cut], turn)
    equal(_FIND, turn != -1, found["isSplitTurn"], at="/isSplitTurn")


@prop("CUT-outside", rules="CUT-05", asks=_FIND, given=_RANGES)
def nothing_outside_the_range_counts(ask: Ask, example: tuple[Session, int, int, int]) -> None:
    """What stands outside the range has no part in the cut."""
    session, budget, start, length = example
    start = min(start, len(session.entries))
    end = min(start + length, len(session.entries))
    inside = session.entries[start:end]
    alone, within = _find(ask, inside, budget), _find(ask, session.entries, budget, start, end)
    equal(_FIND, alone["firstKeptEntryIndex"] + start, within["firstKeptEntryIndex"], at="/firstKeptEntryIndex")
    turn = alone["turnStartIndex"]
    equal(_FIND, turn if turn == -1 else turn + start, within["turnStartIndex"], at="/turnStartIndex")


@prop("CUT-tool-result", rules="CUT-01 CUT-03 CUT-04", asks=_FIND, given=_CASES)
def never_at_a_tool_result(ask: Ask, example: tuple[Session, int]) -> None:
    """The kept part never begins with a tool result, a system message or a compaction, unless nothing can be cut."""
    session, budget = example
    found = _find(ask, session.entries, budget)
    if any(map(may_be_cut_at, session.entries)):
        first = _first_shown(session.entries, found["firstKeptEntryIndex"], len(session.entries))
        good = first is not None and may_be_cut_at(first)
        holds(good, _FIND, "no cut point", "/firstKeptEntryIndex", "a cut point", found["firstKeptEntryIndex"])


@prop("CUT-none", rules="CUT-06", asks=_FIND, given=_CASES)
def without_a_cut_point_all_is_kept(ask: Ask, example: tuple[Session, int]) -> None:
    """Where nothing can be cut all of the range is kept and nothing is split."""
    session, budget = example
    entries = [entry for entry in session.entries if not may_be_cut_at(entry)]
    want = {"firstKeptEntryIndex": 0, "turnStartIndex": -1, "isSplitTurn": False}
    equal(_FIND, want, _find(ask, entries, budget))


@prop("CUT-budget", rules="CUT-07 CUT-08 CUT-09 CUT-10 CUT-11 CUT-12", asks=f"{_FIND} {_WEIGH}", given=_CASES)
def the_budget_is_met_or_all_is_kept(ask: Ask, example: tuple[Session, int]) -> None:
    """From the newest entry back the weights add up to the budget; the cut is the first cut point from there on, else
    the last one; a budget that is never met takes the first one."""
    session, budget = example
    entries = session.entries
    candidates = [index for index, entry in enumerate(entries) if may_be_cut_at(entry)]
    if not candidates:
        return
    weighed = weights(ask, entries)
    met = [i for i in range(len(entries)) if weighed[i] and sum(weighed[i:]) >= budget]
    want = candidates[0]
    if met:
        want = next((index for index in candidates if index >= met[-1]), candidates[-1])
    cut = _find(ask, entries, budget)["firstKeptEntryIndex"]
    first = next((index for index in range(cut, len(entries)) if shown_by(entries[index])), None)
    equal(_FIND, want, first, "the kept part begins elsewhere", "/firstKeptEntryIndex")


@prop("CUT-monotone", rules="CUT-07 CUT-08", asks=_FIND, given=st.tuples(sessions(branches=False), _BUDGETS, _BUDGETS))
def a_larger_budget_keeps_no_less(ask: Ask, example: tuple[Session, int, int]) -> None:
    """A larger budget never cuts later."""
    session, one, other = example
    small, large = (_find(ask, session.entries, each)["firstKeptEntryIndex"] for each in sorted((one, other)))
    holds(large <= small, _FIND, "a larger budget keeps less", "/firstKeptEntryIndex", small, large)


@prop("CUT-metadata", rules="CUT-18 CUT-19 CUT-20", asks=_FIND, given=_CASES)
def metadata_before_a_cut_is_kept(ask: Ask, example: tuple[Session, int]) -> None:
    """Right before a cut stands a message, a compaction, or nothing: what shows nothing is kept with what follows."""
    session, budget = example
    cut = _find(ask, session.entries, budget)["firstKeptEntryIndex"]
    if cut and any(map(may_be_cut_at, session.entries)):
        before = session.entries[cut - 1]
        good = bool(shown_by(before)) or before["type"] == "compaction"
        holds(good, _FIND, "metadata is left behind", "/firstKeptEntryIndex", cut - 1, cut)


@prop("CUT-split", rules="CUT-22 CUT-02", asks=_FIND, given=_CASES)
def a_split_turn_starts_before_its_cut(ask: Ask, example: tuple[Session, int]) -> None:
    """A turn is split where the kept part begins inside it; its start is the nearest one before."""
    session, budget = example
    found = _find(ask, session.entries, budget)
    cut, turn = found["firstKeptEntryIndex"], found["turnStartIndex"]
    first = _first_shown(session.entries, cut, len(session.entries))
    starts = [index for index in range(cut) if starts_turn(session.entries[index])]
    if first is None or not any(map(may_be_cut_at, session.entries)) or (starts_turn(first) and turn == -1):
        return
    if starts_turn(first):
        holds(not shown_by(session.entries[cut]), _FIND, "a clean cut splits a turn", "/turnStartIndex", -1, turn)
    equal(_FIND, starts[-1] if starts else -1, turn, at="/turnStartIndex")


@prop("CUT-as-stored", rules="CUT-17", asks=_FIND, given=_CASES)
def edits_never_matter_to_a_plain_list(ask: Ask, example: tuple[Session, int]) -> None:
    """A plain list is read as it is stored: what an edit in it says changes no cut."""
    session, budget = example
    other = [{**e, "targetId": "nobody"} if e["type"] == "context_edit" else e for e in session.entries]
    equal(_FIND, _find(ask, session.entries, budget), _find(ask, other, budget))


@prop(
    "CUT-turn-start",
    rules="CUT-23 CUT-24 CUT-02",
    asks=_START,
    given=st.tuples(sessions(branches=False), st.integers(0, 12), st.integers(0, 12)),
)
def the_turn_start_is_the_nearest_one(ask: Ask, example: tuple[Session, int, int]) -> None:
    """The turn start of an entry is the newest one from it back to the start of the search, both included."""
    session, index, start = example
    if session.entries:
        index %= len(session.entries)
        starts = [place for place in range(start, index + 1) if starts_turn(session.entries[place])]
        params = {"entries": list(session.entries), "entryIndex": index, "startIndex": start}
        equal(_START, starts[-1] if starts else -1, ask(_START, params)["turnStartIndex"], at="/turnStartIndex")
