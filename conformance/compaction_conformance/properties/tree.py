"""Properties of the tree: paths, roots, labels, forks, appends."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from compaction_conformance.properties.base import Ask, equal, holds, ids_of, prop
from compaction_conformance.strategies import Session, drafts, sessions

_TREES = sessions(any_leaf=True, strays=True)
_WITH_DRAFT = st.tuples(_TREES, drafts())
_PATH, _TREE, _APPEND, _FORK = "session/path", "session/tree", "session/append", "session/fork"


@prop("TRE-path", rules="TRE-02 TRE-03 TRE-04 TRE-06", asks=_PATH, given=_TREES)
def path_follows_parents(ask: Ask, session: Session) -> None:
    """A path is the leaf and its forebears, root first, each as it is stored."""
    equal(_PATH, session.path, ask(_PATH, session.state)["entries"], at="/entries")


@prop("TRE-path-alone", rules="TRE-05 TRE-02", asks=_PATH, given=_TREES)
def path_without_the_rest(ask: Ask, session: Session) -> None:
    """Entries on other branches and under other roots have no part in a path."""
    ask.same(_PATH, session.path_alone.state, session.state)


@prop("TRE-path-order", rules="TRE-02", asks=_PATH, given=st.tuples(_TREES, st.randoms(use_true_random=False)))
def path_in_any_order(ask: Ask, example: tuple[Session, Any]) -> None:
    """The path of a named leaf follows parents, whatever the order of the lines."""
    session, random = example
    mixed = list(session.entries)
    random.shuffle(mixed)
    ask.same(_PATH, session.state, {"entries": mixed, "leafId": session.leaf_id})


@prop("TRE-unknown-leaf", rules="TRE-07", asks=_PATH, given=_TREES)
def unknown_leaf(ask: Ask, session: Session) -> None:
    """A leaf that no entry is has an empty path."""
    found = ask(_PATH, {"entries": list(session.entries), "leafId": "nobody"})
    equal(_PATH, [], found["entries"], at="/entries")


@prop("TRE-absent-leaf", rules="TRE-01", asks=_PATH, given=sessions())
def absent_leaf(ask: Ask, session: Session) -> None:
    """Without a leaf the path is that of the last entry."""
    ask.same(_PATH, session.state, {"entries": list(session.entries)})


@prop("TRE-prefix", rules="TRE-02", asks=_PATH, given=sessions())
def later_entries_change_no_path(ask: Ask, session: Session) -> None:
    """Entries that are appended later change no path that was there before."""
    half = session.entries[: len(session.entries) // 2]
    leaf = half[-1]["id"] if half else None
    ask.same(_PATH, {"entries": list(half), "leafId": leaf}, {"entries": list(session.entries), "leafId": leaf})


@prop("TRE-tree-whole", rules="TRE-14", asks=_TREE, given=_TREES)
def tree_holds_each_entry_once(ask: Ask, session: Session) -> None:
    """Roots and children together hold every entry exactly once, each child below its parent."""
    found = ask(_TREE, {"entries": list(session.entries)})
    equal(_TREE, [e["id"] for e in session.entries if e["parentId"] is None], found["roots"], at="/roots")
    for parent, children in found["children"].items():
        below = [entry["id"] for entry in session.entries if entry["parentId"] == parent]
        equal(_TREE, sorted(below), sorted(children), at=f"/children/{parent}")
    hung = sum(map(len, found["children"].values()))
    holds(hung + len(found["roots"]) == len(session.entries), _TREE, "an entry is missing", "/children")


@prop("TRE-children-order", rules="TRE-15", asks=_TREE, given=st.tuples(_TREES, st.integers(0, 30)))
def children_by_time(ask: Ask, example: tuple[Session, int]) -> None:
    """Children stand by their times; those of one instant keep the order of the file."""
    session, swapped = example
    entries = list(session.entries)
    if entries:
        place = swapped % len(entries)
        entries[place] = {**entries[place], "timestamp": entries[swapped // 2 % len(entries)]["timestamp"]}
    for parent, children in ask(_TREE, {"entries": entries})["children"].items():
        below = [entry for entry in entries if entry["parentId"] == parent]
        equal(
            _TREE, ids_of(sorted(below, key=lambda entry: str(entry["timestamp"]))), children, at=f"/children/{parent}"
        )


@prop("TRE-labels", rules="TRE-19 TRE-20", asks=_TREE, given=_TREES)
def last_label_counts(ask: Ask, session: Session) -> None:
    """The last label of a target counts, on whatever branch it stands, and one without text takes it away."""
    expected: dict[str, str] = {}
    for entry in session.entries:
        if entry["type"] == "label":
            expected.pop(entry["targetId"], None)
            if entry.get("label"):
                expected[entry["targetId"]] = entry["label"]
    equal(_TREE, expected, ask(_TREE, {"entries": list(session.entries)})["labels"], at="/labels")


@prop("TRE-name", rules="TRE-21 TRE-22", asks=_TREE, given=_TREES)
def last_name_counts(ask: Ask, session: Session) -> None:
    """The last session info gives the name, trimmed; an empty one gives none."""
    names = [entry["name"].strip() or None for entry in session.entries if entry["type"] == "session_info"]
    found = ask(_TREE, {"entries": list(session.entries)})["name"]
    equal(_TREE, names[-1] if names else None, found, at="/name")


@prop("TRE-fork-chain", rules="TRE-26 TRE-24 TRE-27", asks=_FORK, given=_TREES)
def fork_is_a_chain(ask: Ask, session: Session) -> None:
    """A fork is the path without its labels in one chain, then the labels in force."""
    if not session.path:
        equal(_FORK, "entry_not_found", ask.refusal(_FORK, session.state), at="/error/kind")
        return
    found = ask(_FORK, session.state)["entries"]
    copied = [entry["id"] for entry in session.path if entry["type"] != "label"]
    equal(_FORK, copied, ids_of(found[: len(copied)]), at="/entries")
    equal(_FORK, [None, *ids_of(found[:-1])], [entry["parentId"] for entry in found] or [None], at="/entries")
    holds(all(entry["type"] == "label" for entry in found[len(copied) :]), _FORK, "no label at the end", "/entries")


@prop("TRE-fork-projection", rules="TRE-24 TRE-28", asks=f"{_FORK} projection/messages", given=_TREES)
def fork_projects_alike(ask: Ask, session: Session) -> None:
    """The projection of a fork is that of the leaf it was made at."""
    if session.path:
        forked = ask(_FORK, session.state)["entries"]
        expected = ask("projection/messages", session.state)
        equal(_FORK, expected, ask("projection/messages", {"entries": forked}), "a fork shows something else")


@prop("APP-leaf", rules="APP-01 APP-02", asks=_APPEND, given=_WITH_DRAFT)
def append_moves_the_leaf(ask: Ask, example: tuple[Session, Any]) -> None:
    """An appended entry has a new id, hangs on the leaf, and is the leaf afterwards."""
    session, draft = example
    resolved = session.resolved(draft)
    if resolved is None or resolved["type"] == "branch_summary":
        return
    found = ask(_APPEND, {**session.state, "draft": resolved})
    holds(found["entry"]["id"] not in session.by_id, _APPEND, "the id is taken", "/entry/id")
    equal(_APPEND, session.leaf_id, found["entry"]["parentId"], at="/entry/parentId")
    equal(_APPEND, found["entry"]["id"], found["leafId"], at="/leafId")


@prop(
    "APP-branch-summary", rules="APP-24 APP-25 APP-26", asks=_APPEND, given=st.tuples(_TREES, drafts("branch_summary"))
)
def branch_summary_hangs_where_it_says(ask: Ask, example: tuple[Session, Any]) -> None:
    """A branch summary hangs where the new branch begins, and names the leaf that was left."""
    session, draft = example
    resolved = session.resolved(draft) or {**draft, "branchFromId": None}
    found = ask(_APPEND, {**session.state, "draft": resolved})["entry"]
    equal(_APPEND, resolved["branchFromId"], found["parentId"], at="/entry/parentId")
    equal(_APPEND, session.leaf_id or "root", found["fromId"], at="/entry/fromId")


@prop("APP-members", rules="APP-03 APP-04 APP-15", asks=_APPEND, given=_WITH_DRAFT)
def append_stores_what_was_given(ask: Ask, example: tuple[Session, Any]) -> None:
    """An appended entry holds the members of its draft and, beside those that every entry has, few others."""
    session, draft = example
    resolved = session.resolved(draft)
    if resolved is None:
        return
    entry = ask(_APPEND, {**session.state, "draft": resolved})["entry"]
    free = {"branchFromId", "firstKeptEntryId", "replacement", "name", "note"}
    own = {name: value for name, value in resolved.items() if name not in free}
    equal(_APPEND, own, {name: entry[name] for name in own if name in entry}, at="/entry")
    added = set(entry) - set(resolved) - {"id", "parentId", "timestamp", "fromId", "firstKeptEntryId", "systemMessage"}
    holds(not added, _APPEND, f"members that were not given: {sorted(added)}", "/entry")


@prop("APP-only-grows", rules="APP-01 TRE-02", asks=f"{_PATH} {_APPEND}", given=_WITH_DRAFT)
def append_only_grows(ask: Ask, example: tuple[Session, Any]) -> None:
    """After an append the path is the path before and the new entry."""
    session, draft = example
    resolved = session.resolved(draft)
    if resolved is None or resolved["type"] == "branch_summary":
        return
    entry = ask(_APPEND, {**session.state, "draft": resolved})["entry"]
    found = ask(_PATH, {"entries": [*session.entries, entry]})["entries"]
    equal(_PATH, [*session.path, entry], found, at="/entries")


@prop("APP-kept", rules="APP-06 APP-07", asks=_APPEND, given=st.tuples(_TREES, drafts("compaction")))
def compaction_keeps_what_it_says(ask: Ask, example: tuple[Session, Any]) -> None:
    """A compaction stores the kept id it was given, and its own where it was given none."""
    session, draft = example
    resolved = session.resolved(draft) or {**draft, "firstKeptEntryId": None}
    entry = ask(_APPEND, {**session.state, "draft": resolved})["entry"]
    kept = entry["id"] if resolved["firstKeptEntryId"] is None else resolved["firstKeptEntryId"]
    equal(_APPEND, kept, entry["firstKeptEntryId"], at="/entry/firstKeptEntryId")


@prop(
    "APP-snapshot",
    rules="APP-08 APP-09 APP-10 APP-12",
    asks=f"{_APPEND} projection/messages system/current",
    given=st.tuples(_TREES, drafts("compaction")),
)
def compaction_takes_the_system_state(ask: Ask, example: tuple[Session, Any]) -> None:
    """A compaction carries the system state of the projection before it, replayed into one message."""
    session, draft = example
    resolved = session.resolved(draft) or {**draft, "firstKeptEntryId": None}
    messages = ask("projection/messages", session.state)["messages"]
    state = ask("system/current", {"messages": messages})["message"]
    entry = ask(_APPEND, {**session.state, "draft": resolved})["entry"]
    stored = entry.get("systemMessage")
    times = {"timestamp": None}
    want = None if state is None else {**state, **times}
    equal(_APPEND, want, None if stored is None else {**stored, **times}, at="/entry/systemMessage")


@prop("APP-edit-refused", rules="APP-18 APP-17 APP-19", asks=_APPEND, given=st.tuples(_TREES, st.integers(0, 20)))
def edits_are_checked(ask: Ask, example: tuple[Session, int]) -> None:
    """An edit is refused when its target is not there, not on the path, or no message that can be edited."""
    session, place = example
    nobody: Any = {"id": "nobody", "type": "?"}
    target = session.entries[place % len(session.entries)] if session.entries else nobody
    draft = {"type": "context_edit", "targetId": target["id"], "replacement": None}
    params = {**session.state, "draft": draft}
    role = target.get("message", {}).get("role")
    editable = role in ("user", "assistant", "toolResult") or target["type"] == "custom_message"
    if target["id"] not in session.by_id:
        expected = "entry_not_found"
    elif target["id"] not in session.path_ids:
        expected = "not_on_path"
    elif not editable:
        expected = "not_editable"
    else:
        equal(_APPEND, target["id"], ask(_APPEND, params)["entry"]["targetId"], at="/entry/targetId")
        return
    equal(_APPEND, expected, ask.refusal(_APPEND, params), at="/error/kind")


@prop("APP-unknown", rules="APP-29", asks=_APPEND, given=st.tuples(_TREES, drafts("label", "branch_summary")))
def unknown_ids_are_refused(ask: Ask, example: tuple[Session, Any]) -> None:
    """A label or a branch summary that names no entry is refused."""
    session, draft = example
    name = "targetId" if draft["type"] == "label" else "branchFromId"
    params = {**session.state, "draft": {**draft, name: "nobody"}}
    equal(_APPEND, "entry_not_found", ask.refusal(_APPEND, params), at="/error/kind")
