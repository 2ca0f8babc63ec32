"""Properties of the projection: the fold, context edits, what never matters."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from compaction_conformance.properties.base import Ask, equal, holds, ids_of, prop
from compaction_conformance.properties.facts import folded, shown_by
from compaction_conformance.strategies import Session, damaged_entries, drafts, sessions
from compaction_conformance.strategies.building import is_editable
from compaction_conformance.strategies.entries import replacements

_ALL = sessions(any_leaf=True, strays=True)
_MESSAGES, _SOURCES = "projection/messages", "projection/sources"
_ENTRIES, _SETTINGS = "projection/entries", "projection/settings"
_QUIET = drafts("label", "model_change", "thinking_level_change", "session_info", "custom", "usage")


@prop("PRJ-off-path", rules="PRJ-04 PRJ-12 PRJ-49", asks=_MESSAGES, given=_ALL)
def off_path_entries_never_matter(ask: Ask, session: Session) -> None:
    """Entries that are not on the path of the leaf, edits and compactions among them, change no projected message."""
    ask.same(_MESSAGES, session.path_alone.state, session.state)


@prop("PRJ-order", rules="PRJ-15 PRJ-04", asks=_MESSAGES, given=st.tuples(_ALL, st.randoms(use_true_random=False)))
def file_order_never_matters(ask: Ask, example: tuple[Session, Any]) -> None:
    """The projection of a named leaf follows parents, whatever the order of the lines."""
    session, random = example
    if session.leaf_id is not None:
        mixed = list(session.entries)
        random.shuffle(mixed)
        ask.same(_MESSAGES, session.state, {"entries": mixed, "leafId": session.leaf_id})


@prop("PRJ-null-leaf", rules="PRJ-02", asks=_MESSAGES, given=_ALL)
def null_leaf_shows_nothing(ask: Ask, session: Session) -> None:
    """Before the first entry there is nothing to show."""
    equal(_MESSAGES, [], ask(_MESSAGES, session.at(None).state)["messages"], at="/messages")


@prop("PRJ-unknown-leaf", rules="PRJ-03", asks=_MESSAGES, given=sessions())
def unknown_leaf_is_the_last(ask: Ask, session: Session) -> None:
    """A leaf that no entry is stands for the last entry here."""
    ask.same(_MESSAGES, session.state, {"entries": list(session.entries), "leafId": "nobody"})


@prop(
    "PRJ-plain",
    rules="PRJ-05 PRJ-16 PRJ-28",
    asks=_MESSAGES,
    given=sessions(compactions=False, edits=False, strays=True),
)
def a_plain_path_is_shown_whole(ask: Ask, session: Session) -> None:
    """Without compactions and edits every message of the path is shown, in order and as stored."""
    messages = ask(_MESSAGES, session.state)["messages"]
    shown = [message for entry in session.path for message in shown_by(entry)]
    equal(_MESSAGES, [message["role"] for message in shown], [message["role"] for message in messages], at="/messages")
    stored = [
        (m, each) for m, each in zip(shown, messages, strict=True) if m["role"] not in ("custom", "branchSummary")
    ]
    equal(_MESSAGES, [m for m, _ in stored], [each for _, each in stored], at="/messages")


@prop("PRJ-fold", rules="PRJ-06 PRJ-07 PRJ-08 PRJ-10 PRJ-13", asks=_SOURCES, given=_ALL)
def the_newest_compaction_leads(ask: Ask, session: Session) -> None:
    """The newest compaction leads, then what it keeps without system messages, then what came after it."""
    found = ask(_SOURCES, session.state)["sources"]
    equal(_SOURCES, ids_of(folded(session.path)), ids_of(found), at="/sources")


@prop("PRJ-fold-entries", rules="PRJ-06 PRJ-09 PRJ-11", asks=_ENTRIES, given=_ALL)
def the_fold_changes_no_entry(ask: Ask, session: Session) -> None:
    """The entries after the fold are entries of the path, each as it is stored."""
    equal(_ENTRIES, folded(session.path), ask(_ENTRIES, session.state)["entries"], at="/entries")


@prop("PRJ-sources", rules="PRJ-34 PRJ-35", asks=f"{_SOURCES} {_MESSAGES}", given=_ALL)
def sources_count_the_messages(ask: Ask, session: Session) -> None:
    """The sources of a projection account for every message of it."""
    sources = ask(_SOURCES, session.state)["sources"]
    messages = ask(_MESSAGES, session.state)["messages"]
    equal(_SOURCES, len(messages), sum(source["messages"] for source in sources), "the counts differ", "/sources")


@prop("PRJ-summary-first", rules="PRJ-06 PRJ-27 PRJ-25", asks=_MESSAGES, given=_ALL)
def the_summary_comes_first(ask: Ask, session: Session) -> None:
    """With a compaction on the path the first message is the summary of the newest one, and no other is shown."""
    messages = ask(_MESSAGES, session.state)["messages"]
    summaries = [message["summary"] for message in messages if message["role"] == "compactionSummary"]
    newest = session.newest_compaction
    equal(_MESSAGES, [] if newest is None else [session.path[newest]["summary"]], summaries, at="/messages")
    if newest is not None:
        equal(_MESSAGES, "compactionSummary", messages[0]["role"], at="/messages/0/role")


@prop("PRJ-older-silent", rules="PRJ-14", asks=_SOURCES, given=sessions(branches=False))
def an_older_compaction_is_silent(ask: Ask, session: Session) -> None:
    """A compaction in the kept tail of a newer one shows nothing."""
    older = {entry["id"] for entry in session.path[: session.newest_compaction or 0] if entry["type"] == "compaction"}
    for place, source in enumerate(ask(_SOURCES, session.state)["sources"]):
        if source["id"] in older:
            equal(_SOURCES, 0, source["messages"], at=f"/sources/{place}/messages")


@prop("PRJ-folded-away", rules="PRJ-06 PRJ-47", asks=_MESSAGES, given=_ALL)
def what_was_folded_away_never_matters(ask: Ask, session: Session) -> None:
    """What a compaction summarised changes nothing any more, whatever it says."""
    left = set(ids_of(folded(session.path)))
    gone = {
        entry["id"]: {**entry, "message": {**entry["message"], "content": "other", "role": "user"}}
        for entry in session.path
        if entry["id"] not in left and entry["type"] == "message" and entry["message"]["role"] != "system"
    }
    ask.same(_MESSAGES, session.state, session.replaced(gone).state)


@prop("PRJ-quiet", rules="PRJ-28", asks=_MESSAGES, given=st.tuples(_ALL, _QUIET))
def metadata_shows_nothing(ask: Ask, example: tuple[Session, Any]) -> None:
    """Labels, names, settings, usage and data of extensions show nothing."""
    session, draft = example
    ask.same(_MESSAGES, session.state, session.with_draft(draft).state)


@prop("PRJ-append", rules="PRJ-05 PRJ-16", asks=_MESSAGES, given=st.tuples(_ALL, drafts("message")))
def a_message_is_added_at_the_end(ask: Ask, example: tuple[Session, Any]) -> None:
    """A message that is appended is added at the end and changes nothing before it."""
    session, draft = example
    before = ask(_MESSAGES, session.state)["messages"]
    longer = session.with_draft(draft)
    equal(_MESSAGES, [*before, longer.entries[-1]["message"]], ask(_MESSAGES, longer.state)["messages"], at="/messages")


@prop("PRJ-unknown-type", rules="PRJ-29", asks=_MESSAGES, given=damaged_entries("unknown type"))
def unknown_types_show_nothing(ask: Ask, damaged: Any) -> None:
    """Entries of unknown types show nothing, and what hangs on them is shown."""
    plain = [{**e, "type": "custom", "customType": "x"} if e["type"] == "hologram" else e for e in damaged.entries]
    ask.same(_MESSAGES, {"entries": plain, "leafId": damaged.leaf_id}, damaged.state)


@prop(
    "PRJ-null-content",
    rules="PRJ-17 PRJ-18 PRJ-19",
    asks=_MESSAGES,
    given=damaged_entries("null content", "absent content"),
)
def missing_content_is_repaired(ask: Ask, damaged: Any) -> None:
    """A message without content is shown as one with empty content."""
    empty = {"system": "", "user": [], "assistant": [], "toolResult": []}
    repaired = [_with_content(entry, empty) for entry in damaged.entries]
    ask.same(_MESSAGES, {"entries": repaired, "leafId": damaged.leaf_id}, damaged.state)


def _with_content(entry: Any, empty: dict[str, Any]) -> Any:
    message = entry.get("message")
    if entry["type"] != "message" or message["role"] not in empty or message.get("content") is not None:
        return entry
    return {**entry, "message": {**message, "content": empty[message["role"]]}}


@prop("PRJ-edit-again", rules="PRJ-45", asks=_MESSAGES, given=_ALL)
def edits_are_idempotent(ask: Ask, session: Session) -> None:
    """The newest edit of the path, made once more, changes nothing."""
    edits = [entry for entry in folded(session.path) if entry["type"] == "context_edit"]
    if edits:
        draft = {name: edits[-1][name] for name in ("type", "targetId", "replacement")}
        ask.same(_MESSAGES, session.state, session.with_draft(draft).state)


@prop("PRJ-edit-last", rules="PRJ-45", asks=_MESSAGES, given=st.tuples(_ALL, drafts("context_edit"), replacements()))
def the_last_edit_wins(ask: Ask, example: tuple[Session, Any, Any]) -> None:
    """Of two edits of one message the last one counts, and it is applied to the original."""
    session, first, replacement = example
    resolved = session.resolved(first)
    if resolved is not None:
        last = {**resolved, "replacement": replacement}
        ask.same(_MESSAGES, session.with_draft(last).state, session.with_draft(resolved).with_draft(last).state)


@prop("PRJ-edit-omits", rules="PRJ-42 PRJ-51", asks=f"{_SOURCES} {_MESSAGES}", given=st.tuples(_ALL, st.integers(0, 8)))
def an_omission_takes_its_target_alone(ask: Ask, example: tuple[Session, int]) -> None:
    """An edit that omits a message takes that message away and nothing else."""
    session, far = example
    sources = ask(_SOURCES, session.state)["sources"]
    targets = [source["id"] for source in sources if is_editable(session.by_id[source["id"]])]
    if not targets:
        return
    target = targets[far % len(targets)]
    messages, at = ask(_MESSAGES, session.state)["messages"], 0
    left: list[Any] = []
    for source in sources:
        left += [] if source["id"] == target else messages[at : at + source["messages"]]
        at += source["messages"]
    edited = session.with_draft({"type": "context_edit", "targetId": target, "replacement": None})
    equal(_MESSAGES, left, ask(_MESSAGES, edited.state)["messages"], at="/messages")


@prop(
    "PRJ-edit-replaces",
    rules="PRJ-43 PRJ-44",
    asks=_MESSAGES,
    given=st.tuples(sessions(edits=False), replacements(), st.integers(0, 8)),
)
def a_replacement_changes_content_alone(ask: Ask, example: tuple[Session, Any, int]) -> None:
    """New content takes the place of the old one; every other member of the message stays."""
    session, replacement, far = example
    targets = [entry for entry in session.path if entry["type"] == "message" and is_editable(entry)]
    if not targets or replacement is None or session.newest_compaction is not None:
        return
    target = targets[far % len(targets)]
    content = replacement["content"]
    if isinstance(content, str) and target["message"]["role"] != "user":
        content = [{"type": "text", "text": content}]
    new = {**target, "message": {**target["message"], "content": content}}
    edited = session.with_draft({"type": "context_edit", "targetId": target["id"], "replacement": replacement})
    ask.same(_MESSAGES, session.replaced({target["id"]: new}).state, edited.state)


@prop(
    "PRJ-edit-vain",
    rules="PRJ-48 PRJ-50",
    asks=_MESSAGES,
    given=st.tuples(_ALL, st.sampled_from(["nobody", "last"]), replacements()),
)
def an_edit_of_nothing_changes_nothing(ask: Ask, example: tuple[Session, str, Any]) -> None:
    """An edit whose target is no entry, or an entry that shows nothing, has no effect."""
    session, target, replacement = example
    marked = session.with_draft({"type": "custom", "customType": "x"})
    named = marked.leaf_id if target == "last" else target
    edited = marked.with_draft({"type": "context_edit", "targetId": named, "replacement": replacement})
    ask.same(_MESSAGES, marked.state, edited.state)


@prop("PRJ-edit-other-branch", rules="PRJ-49", asks=_MESSAGES, given=st.tuples(sessions(), drafts("context_edit")))
def an_edit_on_another_branch_changes_nothing(ask: Ask, example: tuple[Session, Any]) -> None:
    """An edit that was made on another branch does not show on this one."""
    session, draft = example
    ask.same(_MESSAGES, session.state, session.with_draft(draft).at(session.leaf_id).state)


@prop("PRJ-ids", rules="PRJ-04 TRE-10", asks=_MESSAGES, given=sessions())
def names_never_matter(ask: Ask, session: Session) -> None:
    """Ids have no meaning: entries under other ids show the same, but for the ids that messages name."""
    names = {old: f"{'xX'[number % 2]}{number // 2}" for number, old in enumerate(session.by_id)}
    keys = ("id", "parentId", "firstKeptEntryId", "targetId", "fromId")
    renamed = [{**e, **{key: names.get(e[key], e[key]) for key in keys if key in e}} for e in session.entries]
    leaf = None if session.leaf_id is None else names[session.leaf_id]
    expected = [
        {**m, "fromId": names.get(m["fromId"], m["fromId"])} if m["role"] == "branchSummary" else m
        for m in ask(_MESSAGES, session.state)["messages"]
    ]
    equal(_MESSAGES, expected, ask(_MESSAGES, {"entries": renamed, "leafId": leaf})["messages"], at="/messages")


@prop("PRJ-settings", rules="PRJ-38 PRJ-39 PRJ-40", asks=_SETTINGS, given=_ALL)
def settings_are_those_of_the_path(ask: Ask, session: Session) -> None:
    """Thinking level and model are the last ones on the path, whatever was folded or edited."""
    level, model = "off", None
    for entry in session.path:
        if entry["type"] == "thinking_level_change":
            level = entry["thinkingLevel"]
        elif entry["type"] == "model_change":
            model = {"provider": entry["provider"], "modelId": entry["modelId"]}
        elif entry.get("message", {}).get("role") == "assistant":
            model = {"provider": entry["message"]["provider"], "modelId": entry["message"]["model"]}
    equal(_SETTINGS, {"thinkingLevel": level, "model": model}, ask(_SETTINGS, session.state))


@prop("PRJ-no-new-strays", rules="PRJ-35 PRJ-05", asks=_MESSAGES, given=sessions(compactions=False, edits=False))
def pairs_stay_pairs(ask: Ask, session: Session) -> None:
    """Without compactions and edits no tool result is shown without its call when each was stored after it."""
    from compaction_conformance.properties.facts import strays

    found = strays(ask(_MESSAGES, session.state)["messages"])
    stored = strays(entry["message"] for entry in session.path if entry["type"] == "message")
    holds(len(found) == len(stored), _MESSAGES, "a result lost its call", "/messages", len(stored), len(found))
