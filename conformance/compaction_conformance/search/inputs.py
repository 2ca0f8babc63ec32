"""What a differential run asks: generated params for every operation on which two right implementations agree.

Inputs stay inside what a MUST decides. Where a QUIRK or a SHOULD leaves the answer open after all, `left_open` says so.
The texts of summary requests are free, so `summary/compact` and `branch/summarize` are judged by properties alone;
`overflow/classify` needs a server and has the corpus.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from compaction_conformance.expectation import Reply, Result
from compaction_conformance.strategies import (
    Session,
    assistant_messages,
    compaction_settings,
    conversations,
    damaged_contents,
    damaged_entries,
    drafts,
    failed_answers,
    invalid_token_counts,
    messages,
    paths,
    provider_errors,
    scenarios,
    sessions,
    settings_files,
    texts,
    usages,
    version_one_contents,
)
from compaction_conformance.strategies.messages import in_order
from compaction_conformance.strategies.settings import MODEL, OTHER_MODEL, TOKEN_FIELDS

Params = dict[str, Any]


def inputs_for(operation: str) -> SearchStrategy[Params] | None:
    """Params of the operation, None where a differential run does not ask it."""
    make = _INPUTS.get(operation)
    return make() if make else None


def _states(*damage: str) -> SearchStrategy[Params]:
    sound = sessions(any_leaf=True, strays=True).map(lambda session: session.state)
    if not damage:
        return sound
    return st.one_of(sound, damaged_entries(*damage).map(lambda damaged: damaged.state))


_BEARABLE = ("dangling parent", "unknown type", "unknown role", "null content", "absent content", "duplicate id")


def _walked() -> SearchStrategy[Params]:
    return _states(*_BEARABLE)


def _sound_states() -> SearchStrategy[Params]:
    return sessions(any_leaf=True).map(lambda session: session.state)


def _listed() -> SearchStrategy[Params]:
    return sessions(strays=True).map(lambda session: {"entries": list(session.entries)})


def _appends() -> SearchStrategy[Params]:
    def draft(session: Session, given: Any, unknown: bool) -> Params | None:
        resolved = session.resolved(given)
        if resolved is not None and unknown and "targetId" in resolved:
            resolved = {**resolved, "targetId": "nobody"}
        return None if resolved is None else {**session.state, "draft": resolved}

    rarely = st.sampled_from([False, False, False, True])
    made = st.builds(draft, sessions(any_leaf=True, strays=True), drafts(), rarely)
    return made.filter(bool).map(lambda params: params or {})


def _contents() -> SearchStrategy[Params]:
    damaged = damaged_contents().map(lambda one: one.content)
    return st.one_of(damaged, version_one_contents()).map(lambda content: {"content": content})


def _writes() -> SearchStrategy[Params]:
    added = st.lists(drafts("message", "custom", "session_info", "model_change", "custom_message"), max_size=3)
    contents = st.one_of(damaged_contents().map(lambda one: one.content), st.none())
    return st.builds(lambda content, given: {"content": content, "drafts": given}, contents, added)


def _forks() -> SearchStrategy[Params]:
    return (
        sessions(any_leaf=True).filter(lambda session: session.leaf_id is not None).map(lambda session: session.state)
    )


def _talk() -> SearchStrategy[Params]:
    return conversations().map(lambda talk: {"messages": talk})


def _system_states() -> SearchStrategy[Params]:
    """Mostly system messages: what they add up to is the question."""
    states = st.lists(st.one_of(messages("system"), messages("system"), messages("user")), max_size=5).map(in_order)
    return st.one_of(states.map(lambda found: {"messages": found}), _talk())


def _hidden_talk() -> SearchStrategy[Params]:
    return conversations(hidden=True).map(lambda talk: {"messages": talk})


def _windows() -> SearchStrategy[Params]:
    return st.builds(lambda state, window: {**state, "contextWindow": window}, _sound_states(), st.integers(1, 2000))


def _resolved() -> SearchStrategy[Params]:
    broken = st.builds(
        lambda file, name, value: {**file, "compaction": {**file.get("compaction", {}), name: value}},
        settings_files(),
        st.sampled_from(TOKEN_FIELDS),
        invalid_token_counts(),
    )
    files = st.one_of(settings_files(), settings_files(), broken)
    model = st.sampled_from([MODEL, OTHER_MODEL, None])
    return st.builds(
        lambda user, project, used: {"global": user, "project": project, "model": used}, files, files, model
    )


def _two_files() -> SearchStrategy[Params]:
    return st.builds(lambda user, project: {"global": user, "project": project}, settings_files(), settings_files())


def _due() -> SearchStrategy[Params]:
    number = st.integers(1, 400)
    return st.builds(
        lambda tokens, window, used: {"contextTokens": tokens, "contextWindow": window, "settings": used},
        number,
        number,
        compaction_settings(400),
    )


def _overflows() -> SearchStrategy[Params]:
    noisy = st.builds(" ".join, st.tuples(st.sampled_from(["", "400:", '{"error":']), provider_errors()))
    answers = st.one_of(failed_answers(noisy), assistant_messages(), failed_answers())
    window: SearchStrategy[Params] = st.one_of(
        st.just({}), st.integers(1, 900).map(lambda size: {"contextWindow": size})
    )
    return st.builds(lambda message, known: {"message": message, **known}, answers, window)


def _lengths() -> SearchStrategy[Params]:
    return st.builds(
        lambda message, wanted: {"message": message, "desiredMaxOutput": wanted},
        assistant_messages(),
        st.integers(-1, 300),
    )


def _cuts() -> SearchStrategy[Params]:
    def params(session: Session, budget: int, start: int, spare: int) -> Params:
        count = len(session.entries)
        start = min(start, count)
        bounds = {"startIndex": start, "endIndex": max(start, count - spare)}
        return {"entries": list(session.entries), **bounds, "keepRecentTokens": budget}

    end = st.sampled_from([0, 0, 0, 1, 2])
    return st.builds(params, sessions(branches=False), st.integers(0, 60), st.sampled_from([0, 0, 0, 1, 2]), end)


def _turn_starts() -> SearchStrategy[Params]:
    def params(session: Session, index: int, start: int) -> Params:
        return {"entries": list(session.entries), "entryIndex": index % len(session.entries), "startIndex": start}

    some = sessions(branches=False).filter(lambda session: bool(session.entries))
    return st.builds(params, some, st.integers(0, 12), st.integers(0, 12))


def _preparations() -> SearchStrategy[Params]:
    states = sessions(12, any_leaf=True).map(lambda session: session.state)
    return st.builds(lambda state, used: {**state, "settings": used}, states, compaction_settings(60))


def _file_lists() -> SearchStrategy[Params]:
    listed = st.lists(paths(), max_size=3)
    details = st.builds(lambda read, changed: {"readFiles": read, "modifiedFiles": changed}, listed, listed)
    more = st.one_of(st.just({}), details.map(lambda found: {"previousDetails": found}))
    return st.builds(lambda talk, previous: {**talk, **previous}, _talk(), more)


def _formats() -> SearchStrategy[Params]:
    listed = st.lists(st.one_of(paths(), texts(8)), max_size=3)
    return st.builds(lambda read, changed: {"readFiles": read, "modifiedFiles": changed}, listed, listed)


def _collected() -> SearchStrategy[Params]:
    def params(session: Session, place: int) -> Params:
        return {**session.state, "targetId": session.entries[place % len(session.entries)]["id"]}

    some = sessions(any_leaf=True).filter(lambda session: bool(session.entries))
    return st.builds(params, some, st.integers(0, 20))


def _left_entries() -> SearchStrategy[Params]:
    """Without what is free here: system messages, edits, summaries without text, calls under a budget."""

    def params(session: Session) -> Params:
        kept = [e for e in session.path if e.get("message", {}).get("role") != "system" and e.get("summary", "a")]
        return {"entries": kept, "tokenBudget": 0}

    return sessions(branches=False, edits=False).map(params)


def _scenarios() -> SearchStrategy[Params]:
    """Without aborts, overflows and summaries that fail, around which several QUIRK rules stand."""

    def tame(scenario: Any) -> Params:
        steps = [step for step in scenario["steps"] if step["do"] not in ("abort", "navigate")]
        replies = [
            reply
            for reply in scenario["replies"]
            if "during" not in reply and "stopReason" not in reply and "error" not in reply
        ]
        summaries = [{"text": f"summary {number}"} for number in range(1, 9)]
        return {"scenario": {**scenario, "steps": steps, "replies": replies, "summaries": summaries}}

    return scenarios().map(tame)


_INPUTS = {
    "session/parse": _contents,
    "session/write": _writes,
    "session/path": _walked,
    "session/tree": _listed,
    "session/append": _appends,
    "session/fork": _forks,
    "projection/entries": _walked,
    "projection/messages": _walked,
    "projection/sources": _walked,
    "projection/settings": _states,
    "system/current": _system_states,
    "messages/to_llm": _hidden_talk,
    "tokens/from_usage": lambda: usages().map(lambda usage: {"usage": usage}),
    "tokens/of_message": lambda: messages().map(lambda message: {"message": message}),
    "tokens/of_context": _talk,
    "tokens/of_projection": _sound_states,
    "tokens/last_usage": _listed,
    "tokens/context_usage": _windows,
    "settings/resolve": _resolved,
    "trigger/should_compact": _due,
    "overflow/is_overflow": _overflows,
    "overflow/is_recoverable_length": _lengths,
    "cut/find": _cuts,
    "cut/turn_start": _turn_starts,
    "compaction/prepare": _preparations,
    "files/lists": _file_lists,
    "files/format": _formats,
    "summary/serialize": _talk,
    "branch/collect": _collected,
    "branch/prepare": _left_entries,
    "branch/settings": _two_files,
    "retry/is_retryable": lambda: failed_answers().map(lambda message: {"message": message}),
    "retry/settings": _two_files,
    "control/run": _scenarios,
}


# ---- what a rule leaves open -----------------------------------------------------------------------------------------


def left_open(operation: str, params: Params, one: Reply, other: Reply) -> str:
    """The id of a rule that allows both answers, or an empty text."""
    if not (isinstance(one, Result) and isinstance(other, Result)):
        return ""
    if operation == "cut/find":
        same_cut = one.value.get("firstKeptEntryIndex") == other.value.get("firstKeptEntryIndex")
        return "CUT-25" if same_cut and _joined(params["entries"], one.value.get("firstKeptEntryIndex")) else ""
    if operation == "compaction/prepare":
        mine, theirs = one.value.get("preparation"), other.value.get("preparation")
        same = isinstance(mine, dict) and isinstance(theirs, dict) and _outline(mine) == _outline(theirs)
        return "PRE-30" if same else ""
    return ""


def _joined(entries: list[Any], index: Any) -> bool:
    """Whether the entry at the cut shows nothing, so that it joined the one behind it."""
    shows = ("message", "custom_message", "branch_summary", "compaction")
    return isinstance(index, int) and 0 <= index < len(entries) and entries[index].get("type") not in shows


def _outline(preparation: Any) -> Any:
    """A preparation without the question whether a turn that ends at the cut counts as split."""
    together = [*preparation.get("messagesToSummarize", ()), *preparation.get("turnPrefixMessages", ())]
    free = ("messagesToSummarize", "turnPrefixMessages", "isSplitTurn")
    return [together, {name: value for name, value in preparation.items() if name not in free}]
