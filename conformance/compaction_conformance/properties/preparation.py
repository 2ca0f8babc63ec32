"""Properties of preparing a compaction, and of the session after it."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from compaction_conformance.properties.base import Ask, equal, holds, prop
from compaction_conformance.properties.facts import CUT_ROLES, TURN_ROLES, strays, unit_order
from compaction_conformance.strategies import Session, drafts, sessions

_PREPARE, _MESSAGES, _SOURCES = "compaction/prepare", "projection/messages", "projection/sources"
_BUDGETS = st.integers(0, 60)
_CASES = st.tuples(sessions(12), _BUDGETS)
_LEAVES = st.tuples(sessions(any_leaf=True), _BUDGETS)


def _settings(budget: int) -> dict[str, Any]:
    return {"enabled": True, "reserveTokens": 100, "keepRecentTokens": budget}


def _prepare(ask: Ask, session: Session, budget: int) -> Any:
    return ask(_PREPARE, {**session.state, "settings": _settings(budget)})["preparation"]


def _summarised(preparation: Any) -> list[Any]:
    return [*preparation["messagesToSummarize"], *preparation["turnPrefixMessages"]]


def _talk(messages: list[Any]) -> list[Any]:
    return [message for message in messages if message["role"] != "system"]


def _projected(ask: Ask, session: Session) -> list[tuple[Any, list[Any]]]:
    """The projection, source by source."""
    messages, at, parts = ask(_MESSAGES, session.state)["messages"], 0, []
    for source in ask(_SOURCES, session.state)["sources"]:
        parts.append((source["id"], messages[at : at + source["messages"]]))
        at += source["messages"]
    return parts


def _kept(ask: Ask, session: Session, preparation: Any) -> tuple[list[Any], list[Any]]:
    """The messages of the projection before the first kept entry (without the summary), and from it on."""
    parts = _projected(ask, session)
    if session.newest_compaction is not None:
        parts = parts[1:]
    ids = [source_id for source_id, _ in parts]
    first = preparation["firstKeptEntryId"]
    holds(
        first in ids,
        _PREPARE,
        "the first kept entry is not in the projection",
        "/preparation/firstKeptEntryId",
        ids,
        first,
    )
    at = ids.index(first)
    before, kept = ([m for _, shown in some for m in shown] for some in (parts[:at], parts[at:]))
    return before, kept


@prop("PRE-conservation", rules="PRE-13 PRE-14 PRE-16 PRE-21", asks=f"{_PREPARE} {_MESSAGES} {_SOURCES}", given=_CASES)
def nothing_is_lost_and_nothing_doubled(ask: Ask, example: tuple[Session, int]) -> None:
    """What is summarised, what is handed over as the first part of a turn and what is kept are together the projection,
    each message once and in order."""
    session, budget = example
    preparation = _prepare(ask, session, budget)
    if preparation is not None:
        before, _ = _kept(ask, session, preparation)
        equal(_PREPARE, _talk(before), _summarised(preparation), "lost or doubled", "/preparation/messagesToSummarize")


@prop("PRE-tool-result", rules="PRE-12 CUT-01", asks=f"{_PREPARE} {_MESSAGES} {_SOURCES}", given=_CASES)
def the_kept_part_begins_at_a_cut_point(ask: Ask, example: tuple[Session, int]) -> None:
    """The first message that is kept is no tool result and no system message, unless nothing that is kept can be
    cut."""
    session, budget = example
    preparation = _prepare(ask, session, budget)
    if preparation is not None:
        _, kept = _kept(ask, session, preparation)
        good = not kept or kept[0]["role"] in CUT_ROLES
        holds(good, _PREPARE, "cut at no cut point", "/preparation/firstKeptEntryId", CUT_ROLES, kept[:1])


@prop(
    "PRE-pairs",
    rules="PRE-12 CUT-01 PRE-34",
    asks=f"{_PREPARE} {_MESSAGES} {_SOURCES}",
    given=st.tuples(sessions(12, edits=False, compactions=False), _BUDGETS),
)
def no_result_loses_its_call(ask: Ask, example: tuple[Session, int]) -> None:
    """No kept tool result is without its call when every result stands right after its call."""
    session, budget = example
    stored = [entry["message"] for entry in session.path if entry["type"] == "message"]
    preparation = _prepare(ask, session, budget)
    if preparation is not None and not strays(stored):
        _, kept = _kept(ask, session, preparation)
        if _together(stored):
            holds(
                not strays(kept),
                _PREPARE,
                "a kept result has lost its call",
                "/preparation/firstKeptEntryId",
                [],
                strays(kept),
            )


def _together(stored: list[Any]) -> bool:
    """Whether nothing stands between an answer and its results (a branch may begin between them)."""
    open_calls: set[str] = set()
    for message in stored:
        if message["role"] == "toolResult":
            if message["toolCallId"] not in open_calls:
                return False
        else:
            blocks = message["content"] if message["role"] == "assistant" else []
            open_calls = {block["id"] for block in blocks if block["type"] == "toolCall"}
    return True


@prop("PRE-off-path", rules="PRE-02 PRE-01", asks=_PREPARE, given=_LEAVES)
def other_branches_never_matter(ask: Ask, example: tuple[Session, int]) -> None:
    """Entries that are not on the path of the leaf have no part in a preparation."""
    session, budget = example
    with_settings = {"settings": _settings(budget)}
    ask.same(_PREPARE, {**session.path_alone.state, **with_settings}, {**session.state, **with_settings})


@prop("PRE-order", rules="PRE-01", asks=_PREPARE, given=st.tuples(_LEAVES, st.randoms(use_true_random=False)))
def file_order_never_matters(ask: Ask, example: tuple[tuple[Session, int], Any]) -> None:
    """A preparation at a named leaf follows parents, whatever the order of the lines."""
    (session, budget), random = example
    mixed = list(session.entries)
    random.shuffle(mixed)
    with_settings = {"leafId": session.leaf_id, "settings": _settings(budget)}
    ask.same(_PREPARE, {"entries": list(session.entries), **with_settings}, {"entries": mixed, **with_settings})


@prop("PRE-settings", rules="PRE-24", asks=_PREPARE, given=st.tuples(_CASES, st.booleans(), st.integers(0, 10**6)))
def the_budget_alone_is_used(ask: Ask, example: tuple[tuple[Session, int], bool, int]) -> None:
    """Neither the switch nor the reserve has a part in a preparation."""
    (session, budget), enabled, reserve = example
    other = {"enabled": enabled, "reserveTokens": reserve, "keepRecentTokens": budget}
    ask.same(_PREPARE, {**session.state, "settings": _settings(budget)}, {**session.state, "settings": other})


@prop("PRE-empty", rules="PRE-03 PRE-04", asks=_PREPARE, given=st.tuples(sessions(), _BUDGETS, drafts("compaction")))
def there_may_be_nothing_to_do(ask: Ask, example: tuple[Session, int, Any]) -> None:
    """An empty path and one that ends in a compaction prepare to nothing."""
    session, budget, draft = example
    equal(_PREPARE, None, _prepare(ask, session.at(None), budget), at="/preparation")
    compacted = session.with_draft(draft if session.path else {**draft, "firstKeptEntryId": None})
    equal(_PREPARE, None, _prepare(ask, compacted, budget), at="/preparation")


@prop("PRE-something", rules="PRE-06", asks=_PREPARE, given=_CASES)
def a_preparation_has_something_to_summarise(ask: Ask, example: tuple[Session, int]) -> None:
    """A preparation never hands over nothing."""
    preparation = _prepare(ask, *example)
    if preparation is not None:
        holds(bool(_summarised(preparation)), _PREPARE, "nothing to summarise", "/preparation/messagesToSummarize")


@prop("PRE-split", rules="PRE-14 PRE-15", asks=_PREPARE, given=_CASES)
def a_prefix_begins_a_turn(ask: Ask, example: tuple[Session, int]) -> None:
    """The first part of a split turn begins with the message that starts the turn; without a split there is none."""
    preparation = _prepare(ask, *example)
    if preparation is None:
        return
    prefix = preparation["turnPrefixMessages"]
    if preparation["isSplitTurn"]:
        good = bool(prefix) and prefix[0]["role"] in TURN_ROLES
        holds(
            good,
            _PREPARE,
            "the prefix begins inside a turn",
            "/preparation/turnPrefixMessages/0",
            TURN_ROLES,
            prefix[:1],
        )
    else:
        equal(_PREPARE, [], prefix, at="/preparation/turnPrefixMessages")


@prop("PRE-roles", rules="PRE-19 PRE-11", asks=_PREPARE, given=_CASES)
def neither_system_nor_summaries_are_summarised(ask: Ask, example: tuple[Session, int]) -> None:
    """System messages and the summaries of compactions are in neither list."""
    preparation = _prepare(ask, *example)
    roles = [] if preparation is None else [message["role"] for message in _summarised(preparation)]
    odd = [role for role in roles if role in ("system", "compactionSummary")]
    equal(_PREPARE, [], odd, at="/preparation/messagesToSummarize")


@prop("PRE-size", rules="PRE-22 PRE-23", asks=f"{_PREPARE} tokens/of_projection", given=_CASES)
def the_size_is_that_of_the_projection(ask: Ask, example: tuple[Session, int]) -> None:
    """`tokensBefore` is the size of the whole projection."""
    session, budget = example
    preparation = _prepare(ask, session, budget)
    if preparation is not None:
        tokens = ask("tokens/of_projection", session.state)["tokens"]
        equal(_PREPARE, tokens, preparation["tokensBefore"], at="/preparation/tokensBefore")


@prop("PRE-previous", rules="PRE-08", asks=_PREPARE, given=_LEAVES)
def the_newest_compaction_gives_the_previous_summary(ask: Ask, example: tuple[Session, int]) -> None:
    """The previous summary is that of the newest compaction of the path."""
    session, budget = example
    preparation = _prepare(ask, session, budget)
    if preparation is not None:
        newest = session.newest_compaction
        want = None if newest is None else session.path[newest]["summary"]
        equal(_PREPARE, want, preparation["previousSummary"], at="/preparation/previousSummary")


@prop("PRE-monotone", rules="PRE-12", asks=_PREPARE, given=st.tuples(sessions(), _BUDGETS, _BUDGETS))
def a_larger_budget_summarises_no_more(ask: Ask, example: tuple[Session, int, int]) -> None:
    """A larger budget never summarises more messages."""
    session, *budgets = example
    small, large = (_prepare(ask, session, budget) for budget in sorted(budgets))
    counts = [0 if each is None else len(_summarised(each)) for each in (small, large)]
    holds(counts[1] <= counts[0], _PREPARE, "more is summarised", "/preparation/messagesToSummarize", *counts)


@prop("PRE-files", rules="FIL-14 FIL-15 FIL-16 FIL-17", asks=f"{_PREPARE} files/lists", given=_CASES)
def files_are_those_of_what_is_summarised(ask: Ask, example: tuple[Session, int]) -> None:
    """The file lists are those of the summarised messages and of the newest compaction, unless an extension wrote
    it."""
    session, budget = example
    preparation = _prepare(ask, session, budget)
    if preparation is None:
        return
    newest = {} if session.newest_compaction is None else session.path[session.newest_compaction]
    details = None if newest.get("fromHook") else newest.get("details")
    want = ask("files/lists", {"messages": _summarised(preparation), "previousDetails": details})
    found = preparation["fileOperations"]
    equal(_PREPARE, want, found, at="/preparation/fileOperations")
    for name, paths in found.items():
        equal(_PREPARE, sorted(set(paths), key=unit_order), paths, at=f"/preparation/fileOperations/{name}")


@prop("PRE-compacted", rules="PRJ-06 PRE-16 PRE-09", asks=f"{_PREPARE} {_MESSAGES} {_SOURCES}", given=_CASES)
def a_compaction_leaves_summary_and_kept_part(ask: Ask, example: tuple[Session, int]) -> None:
    """After the compaction that was prepared the model sees its summary and what was kept, and nothing else of
    before."""
    session, budget = example
    preparation = _prepare(ask, session, budget)
    if preparation is None:
        return
    _, kept = _kept(ask, session, preparation)
    draft = {
        "type": "compaction",
        "summary": "s",
        "firstKeptEntryId": preparation["firstKeptEntryId"],
        "tokensBefore": 1,
    }
    messages = ask(_MESSAGES, session.with_draft(draft).state)["messages"]
    equal(_MESSAGES, "compactionSummary", messages[0]["role"], at="/messages/0/role")
    # a system message of the kept part is gone; one that came with a compaction that is folded now, too
    equal(_MESSAGES, _talk(kept), _talk(messages[1:]), "something else is shown", "/messages")


@prop("PRE-terminates", rules="PRE-04 PRE-06", asks=_PREPARE, given=st.tuples(sessions(8), _BUDGETS), weight=2)
def compacting_comes_to_an_end(ask: Ask, example: tuple[Session, int]) -> None:
    """Compaction after compaction, with a message between two, summarises ever newer entries, and without one it
    stops."""
    session, budget = example
    for round_number in range(4):
        preparation = _prepare(ask, session, budget)
        if preparation is None:
            return
        first = preparation["firstKeptEntryId"]
        holds(
            first in session.path_ids,
            _PREPARE,
            "not on the path",
            "/preparation/firstKeptEntryId",
            session.path_ids,
            first,
        )
        draft = {"type": "compaction", "summary": str(round_number), "firstKeptEntryId": first, "tokensBefore": 1}
        session = session.with_draft(draft)
        equal(_PREPARE, None, _prepare(ask, session, budget), "it would be compacted again at once", "/preparation")
        said = {"type": "message", "message": {"role": "user", "content": "aaaa"}}
        session = session.with_draft(said)


@prop("PRE-unchanged", rules="PRE-24 PRE-01", asks=f"{_PREPARE} {_MESSAGES}", given=_CASES)
def asking_changes_nothing(ask: Ask, example: tuple[Session, int]) -> None:
    """Questions leave no trace: the same question has the same answer, whatever was asked between."""
    session, budget = example
    first = _prepare(ask, session, budget)
    ask(_MESSAGES, session.at(None).state)
    _prepare(ask, session, budget + 7)
    equal(_PREPARE, first, _prepare(ask, session, budget), "another answer the second time", "/preparation")
