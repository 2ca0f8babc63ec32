"""Properties of branches that are left: what belongs to them, what of them fits."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from compaction_conformance.properties.base import Ask, equal, holds, ids_of, prop
from compaction_conformance.properties.facts import shown_by
from compaction_conformance.strategies import Session, sessions

_COLLECT, _PREPARE, _WEIGH = "branch/collect", "branch/prepare", "tokens/of_message"
_MOVES = st.tuples(sessions(any_leaf=True), st.integers(0, 20))
_LEFT = st.tuples(sessions(branches=False, edits=False), st.integers(1, 60))


@prop("BRS-collect", rules="BRS-01 BRS-02 BRS-03 BRS-04 BRS-05 BRS-06", asks=_COLLECT, given=_MOVES)
def a_branch_is_what_the_target_does_not_share(ask: Ask, example: tuple[Session, int]) -> None:
    """What is left are the entries of the old path below the last entry that both paths share."""
    session, place = example
    if not session.entries:
        return
    target = session.entries[place % len(session.entries)]["id"]
    shared = [entry for entry in session.at(target).path_ids if entry in session.path_ids]
    want = {
        "entries": [entry for entry in session.path_ids if entry not in shared],
        "commonAncestorId": shared[-1] if shared else None,
    }
    equal(_COLLECT, want, ask(_COLLECT, {**session.state, "targetId": target}))


def _speaking(session: Session) -> list[tuple[Any, Any]]:
    """Entry and message for every entry that speaks, as far as no rule leaves it open."""
    pairs = [(entry, message) for entry in session.path for message in shown_by(entry)]
    return [pair for pair in pairs if pair[1]["role"] not in ("toolResult", "system")]


def _sound(session: Session) -> list[Any]:
    """Without system messages and summaries without text, which are free here."""

    def is_free(entry: Any) -> bool:
        system = entry.get("message", {}).get("role") == "system"
        return system or (entry["type"] in ("branch_summary", "compaction") and not entry["summary"])

    return [entry for entry in session.path if not is_free(entry)]


@prop("BRS-unlimited", rules="BRS-14 BRS-08 BRS-09 BRS-17", asks=f"{_PREPARE} {_WEIGH}", given=_LEFT)
def without_a_budget_everything_is_taken(ask: Ask, example: tuple[Session, int]) -> None:
    """Without a budget every message of the branch is taken but tool results, and the weights add up."""
    entries = _sound(example[0])
    found = ask(_PREPARE, {"entries": entries, "tokenBudget": 0})
    roles = [message["role"] for entry in entries for message in shown_by(entry) if message["role"] != "toolResult"]
    equal(_PREPARE, roles, [message["role"] for message in found["messages"]], at="/messages")
    each = sum(ask(_WEIGH, {"message": message})["tokens"] for message in found["messages"])
    equal(_PREPARE, each, found["totalTokens"], at="/totalTokens")


@prop("BRS-budget", rules="BRS-12 BRS-13 BRS-15 BRS-16", asks=f"{_PREPARE} {_WEIGH}", given=_LEFT)
def a_budget_takes_the_newest(ask: Ask, example: tuple[Session, int]) -> None:
    """Under a budget the newest messages are taken, without a gap, until one does not fit."""
    entries, budget = _sound(example[0]), example[1]
    spoken = [(e["type"], m) for e in entries for m in shown_by(e) if m["role"] != "toolResult"]
    total, taken = 0, 0
    for kind, message in reversed(spoken):
        weight = ask(_WEIGH, {"message": message})["tokens"]
        full = total + weight > budget
        if not full or (kind in ("compaction", "branch_summary") and total < budget * 0.9):
            total, taken = total + weight, taken + 1
        if full:
            break
    found = ask(_PREPARE, {"entries": entries, "tokenBudget": budget})
    equal(
        _PREPARE,
        [m["role"] for _, m in spoken[len(spoken) - taken :]],
        [m["role"] for m in found["messages"]],
        at="/messages",
    )
    equal(_PREPARE, total, found["totalTokens"], at="/totalTokens")


@prop("BRS-monotone", rules="BRS-12", asks=_PREPARE, given=st.tuples(_LEFT, st.integers(1, 60)))
def a_larger_budget_takes_no_less(ask: Ask, example: tuple[tuple[Session, int], int]) -> None:
    """A larger budget never takes fewer messages, and both end with the newest."""
    (session, one), other = example
    entries = [entry for entry in _sound(session) if entry["type"] not in ("branch_summary", "compaction")]
    small, large = (ask(_PREPARE, {"entries": entries, "tokenBudget": b})["messages"] for b in sorted((one, other)))
    holds(len(small) <= len(large), _PREPARE, "fewer messages", "/messages", len(small), len(large))
    equal(_PREPARE, small, large[len(large) - len(small) :], "not the newest ones", "/messages")


@prop("BRS-files", rules="BRS-19 BRS-20 BRS-21", asks=f"{_PREPARE} files/lists", given=_LEFT)
def branch_summaries_hand_their_files_on(ask: Ask, example: tuple[Session, int]) -> None:
    """The file lists are those of all messages and of the branch summaries that no extension wrote; compactions lend
    none."""
    entries = _sound(example[0])
    found = ask(_PREPARE, {"entries": entries, "tokenBudget": 0})
    lent: dict[str, Any] = {"readFiles": [], "modifiedFiles": []}
    for entry in entries:
        if entry["type"] == "branch_summary" and not entry.get("fromHook"):
            for name, listed in (entry.get("details") or {}).items():
                lent[name] = [*lent[name], *listed]
    want = ask("files/lists", {"messages": found["messages"], "previousDetails": lent})
    equal(_PREPARE, want, {name: found[name] for name in want}, at="/readFiles")


@prop("BRS-paths", rules="BRS-02 TRE-02", asks=f"{_COLLECT} session/path", given=_MOVES)
def branch_and_ancestor_make_the_path(ask: Ask, example: tuple[Session, int]) -> None:
    """What is left and the path of the common ancestor are together the path of the old leaf."""
    session, place = example
    if not session.entries:
        return
    target = session.entries[place % len(session.entries)]["id"]
    found = ask(_COLLECT, {**session.state, "targetId": target})
    above = session.at(found["commonAncestorId"])
    shared = ids_of(ask("session/path", above.state)["entries"])
    equal(_COLLECT, session.path_ids, [*shared, *found["entries"]], at="/entries")
