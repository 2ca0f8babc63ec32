"""Properties of sizes: estimates add up, usage anchors them, and what changes the context makes it stale."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from compaction_conformance.properties.base import Ask, equal, holds, prop
from compaction_conformance.properties.facts import folded, from_usage, is_usable
from compaction_conformance.strategies import Session, conversations, drafts, messages, sessions, texts, usages

_ONE, _CONTEXT, _PROJECTION = "tokens/of_message", "tokens/of_context", "tokens/of_projection"
_LAST, _FULL, _USAGE = "tokens/last_usage", "tokens/context_usage", "tokens/from_usage"
_UNCOUNTED = conversations(counted=False)
_ALL = sessions(any_leaf=True)
_SPOKEN = messages("user", "toolResult", "custom", "assistant", "bashExecution", "branchSummary")
_QUIET = drafts("label", "model_change", "thinking_level_change", "session_info", "custom", "usage")


@prop("TOK-whole", rules="TOK-06", asks=_ONE, given=messages())
def estimates_are_whole(ask: Ask, message: Any) -> None:
    """The estimate of a message is a whole number of tokens, never below zero."""
    tokens = ask(_ONE, {"message": message})["tokens"]
    holds(tokens is not None and tokens >= 0 and tokens == int(tokens), _ONE, "no whole number", "/tokens", 0, tokens)


@prop("TOK-longer", rules="TOK-06 TOK-07", asks=_ONE, given=st.tuples(texts(min_size=0), texts()))
def longer_texts_weigh_no_less(ask: Ask, two: tuple[str, str]) -> None:
    """A text weighs no less when something is added to it, and its parts together no less than the whole."""
    first, rest = two
    short, added, whole = (ask(_ONE, {"message": _user(text)})["tokens"] for text in (first, rest, first + rest))
    holds(short <= whole <= short + added, _ONE, "the parts do not fit the whole", "/tokens", [short, added], whole)


def _user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content, "timestamp": 0}


@prop("TOK-blocks", rules="TOK-07", asks=_ONE, given=st.lists(texts(), min_size=1, max_size=3))
def blocks_weigh_like_their_text(ask: Ask, parts: list[str]) -> None:
    """Text in blocks weighs what it weighs in one text: it is rounded once."""
    blocks = [{"type": "text", "text": part} for part in parts]
    ask.same(_ONE, {"message": _user("".join(parts))}, {"message": _user(blocks)})


@prop("TOK-block-order", rules="TOK-07 TOK-11", asks=_ONE, given=_SPOKEN)
def the_order_of_blocks_never_matters(ask: Ask, message: Any) -> None:
    """Blocks weigh the same in any order."""
    content = message.get("content")
    if isinstance(content, list):
        ask.same(_ONE, {"message": message}, {"message": {**message, "content": content[::-1]}})


@prop("TOK-image", rules="TOK-08", asks=_ONE, given=messages("user", "toolResult", "custom"))
def an_image_adds_1200(ask: Ask, message: Any) -> None:
    """A picture adds 1200 tokens, whatever it shows."""
    content = message["content"]
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    picture = {"type": "image", "data": "A" * 4000, "mimeType": "image/png"}
    tokens = ask(_ONE, {"message": {**message, "content": blocks}})["tokens"]
    with_picture = ask(_ONE, {"message": {**message, "content": [*blocks, picture]}})["tokens"]
    equal(_ONE, tokens + 1200, with_picture, at="/tokens")


@prop("TOK-beside", rules="TOK-09 TOK-13", asks=_ONE, given=messages("user", "toolResult", "custom", "assistant"))
def what_stands_beside_weighs_nothing(ask: Ask, message: Any) -> None:
    """Members beside the content weigh nothing, known ones or unknown."""
    beside = {"details": {"a": "aaaaaaaa"}, "errorMessage": "aaaaaaaa", "unknown": ["aaaaaaaa"], "timestamp": 9}
    ask.same(_ONE, {"message": message}, {"message": {**message, **beside}})


@prop("TOK-unknown-role", rules="TOK-18", asks=_ONE, given=_SPOKEN)
def unknown_roles_weigh_nothing(ask: Ask, message: Any) -> None:
    """A message of an unknown role weighs nothing."""
    equal(_ONE, 0, ask(_ONE, {"message": {**message, "role": "oracle"}})["tokens"], at="/tokens")


@prop("TOK-from-usage", rules="TOK-01 TOK-02 TOK-03", asks=_USAGE, given=usages())
def a_usage_tells_its_total(ask: Ask, usage: Any) -> None:
    """The size of a usage is its total, or the sum of its four parts where the total is zero."""
    equal(_USAGE, from_usage(usage), ask(_USAGE, {"usage": {**usage, "reasoning": 7}})["tokens"], at="/tokens")


@prop("TOK-additive", rules="TOK-26 TOK-28", asks=f"{_CONTEXT} {_ONE}", given=_UNCOUNTED)
def estimates_are_additive(ask: Ask, talk: list[Any]) -> None:
    """Without a usage the size of a list is the sum of what its messages weigh one by one."""
    each = sum(ask(_ONE, {"message": message})["tokens"] for message in talk)
    want = {"tokens": each, "usageTokens": 0, "trailingTokens": each, "lastUsageIndex": None}
    equal(_CONTEXT, want, ask(_CONTEXT, {"messages": talk}))


@prop("TOK-anchor", rules="TOK-24 TOK-23 TOK-27", asks=f"{_CONTEXT} {_ONE}", given=conversations())
def the_newest_usage_anchors(ask: Ask, talk: list[Any]) -> None:
    """The newest usable usage stands for all up to it, and what follows is estimated message by message."""
    places = [place for place, message in enumerate(talk) if is_usable(message)]
    anchor = places[-1] if places else None
    used = 0 if anchor is None else from_usage(talk[anchor]["usage"])
    later = talk if anchor is None else talk[anchor + 1 :]
    rest = sum(ask(_ONE, {"message": message})["tokens"] for message in later)
    want = {"tokens": used + rest, "usageTokens": used, "trailingTokens": rest, "lastUsageIndex": anchor}
    equal(_CONTEXT, want, ask(_CONTEXT, {"messages": talk}))


@prop("TOK-before-anchor", rules="TOK-25", asks=_CONTEXT, given=st.tuples(conversations(), texts()))
def nothing_before_the_anchor_is_weighed(ask: Ask, example: tuple[list[Any], str]) -> None:
    """What stands before the newest usable usage has no weight."""
    talk, text = example
    places = [place for place, message in enumerate(talk) if is_usable(message)]
    if places:
        other = [_user(text)] * places[-1]
        ask.same(_CONTEXT, {"messages": talk}, {"messages": [*other, *talk[places[-1] :]]})


@prop("TOK-projection-off-path", rules="TOK-33", asks=_PROJECTION, given=_ALL)
def other_branches_weigh_nothing(ask: Ask, session: Session) -> None:
    """Entries that are not on the path change no size and make no usage stale."""
    ask.same(_PROJECTION, session.path_alone.state, session.state)


@prop("TOK-projection-sum", rules="TOK-24 TOK-36", asks=f"{_PROJECTION} projection/messages", given=_ALL)
def the_parts_of_a_size_add_up(ask: Ask, session: Session) -> None:
    """The size of a projection is its usage and its estimate, and the index names a message of it."""
    size = ask(_PROJECTION, session.state)
    equal(_PROJECTION, size["usageTokens"] + size["trailingTokens"], size["tokens"], at="/tokens")
    if size["lastUsageIndex"] is not None:
        messages = ask("projection/messages", session.state)["messages"]
        anchor = messages[size["lastUsageIndex"]]
        equal(_PROJECTION, from_usage(anchor["usage"]), size["usageTokens"], at="/usageTokens")


@prop("TOK-stale", rules="TOK-30 TOK-31 TOK-29", asks=_PROJECTION, given=_ALL)
def edits_and_compactions_make_usage_stale(ask: Ask, session: Session) -> None:
    """A usage is trusted exactly when no edit and no compaction stands after its answer on the path."""
    changes = [place for place, e in enumerate(session.path) if e["type"] in ("context_edit", "compaction")]
    since = session.path[changes[-1] + 1 :] if changes else session.path
    answers = [entry["message"] for entry in since if entry["type"] == "message" and is_usable(entry["message"])]
    size = ask(_PROJECTION, session.state)
    want = from_usage(answers[-1]["usage"]) if answers else 0
    equal(_PROJECTION, want, size["usageTokens"], at="/usageTokens")
    equal(_PROJECTION, bool(answers), size["lastUsageIndex"] is not None, at="/lastUsageIndex")


@prop("TOK-quiet", rules="TOK-32", asks=_PROJECTION, given=st.tuples(_ALL, _QUIET))
def metadata_leaves_a_size_alone(ask: Ask, example: tuple[Session, Any]) -> None:
    """Labels, names, settings, usage entries and data of extensions change no size."""
    session, draft = example
    ask.same(_PROJECTION, session.state, session.with_draft(draft).state)


@prop("TOK-last-usage", rules="TOK-37 TOK-38", asks=_LAST, given=_ALL)
def the_last_usage_is_the_newest_of_the_file(ask: Ask, session: Session) -> None:
    """The last usage is the newest usable one of all lines, on any branch, folded, edited or not."""
    stored = [entry["message"] for entry in session.entries if entry["type"] == "message"]
    usable = [message["usage"] for message in stored if is_usable(message)]
    found = ask(_LAST, {"entries": list(session.entries)})["usage"]
    equal(_LAST, usable[-1] if usable else None, found, at="/usage")


@prop(
    "TOK-window",
    rules="TOK-39 TOK-41 TOK-42",
    asks=f"{_FULL} {_PROJECTION}",
    given=st.tuples(_ALL, st.integers(1, 2000)),
)
def a_window_is_full_by_its_size(ask: Ask, example: tuple[Session, int]) -> None:
    """The context usage is the size of the projection in percent of the window, unknown after a compaction until a
    reply."""
    session, window = example
    usage = ask(_FULL, {**session.state, "contextWindow": window})["usage"]
    newest = session.newest_compaction
    later = folded(session.path) if newest is None else session.path[newest + 1 :]
    omitted = _omitted(session)
    answered = any(e["type"] == "message" and e["id"] not in omitted and is_usable(e["message"]) for e in later)
    if newest is not None and not answered:
        equal(_FULL, {"tokens": None, "contextWindow": window, "percent": None}, usage, at="/usage")
        return
    tokens = ask(_PROJECTION, session.state)["tokens"]
    equal(
        _FULL,
        {"tokens": tokens, "contextWindow": window},
        {k: usage[k] for k in ("tokens", "contextWindow")},
        at="/usage",
    )
    close = abs(usage["percent"] - tokens / window * 100) < 1e-9 * (1 + usage["percent"])
    holds(close, _FULL, "the percentage is another", "/usage/percent", tokens / window * 100, usage["percent"])


def _omitted(session: Session) -> set[str]:
    edits = {e["targetId"]: e["replacement"] for e in folded(session.path) if e["type"] == "context_edit"}
    return {target for target, replacement in edits.items() if replacement is None}


@prop("TOK-no-window", rules="TOK-40", asks=_FULL, given=st.tuples(_ALL, st.sampled_from([None, 0, -1])))
def without_a_window_nothing_is_known(ask: Ask, example: tuple[Session, Any]) -> None:
    """Without a model or a window there is no context usage."""
    session, window = example
    equal(_FULL, None, ask(_FULL, {**session.state, "contextWindow": window})["usage"], at="/usage")
