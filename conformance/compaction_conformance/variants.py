"""Variants of a golden session, each with a rule for how the answers must change: no expectation is needed to judge them.

An implementation is asked about a session and about a variant of it. Its second answer has to be its first one, changed
as the variant says; so a dependence on ids, clocks, key order or neighbouring branches shows without any oracle.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from compaction_conformance.golden_sessions import GoldenSession, leaves_of, path_of
from compaction_conformance.questions import Material, Point

Json = dict[str, Any]

SHIFT = timedelta(days=11, hours=5, milliseconds=7)
UNKNOWN = "x-unknown"
_SHIFT_MS = SHIFT // timedelta(milliseconds=1)
_REFERENCES = ("id", "parentId", "firstKeptEntryId", "targetId", "fromId", "leafId")


@dataclass(frozen=True)
class State:
    """Entries and a leaf."""

    entries: Sequence[Any]
    leaf_id: str | None


@dataclass(frozen=True)
class StateVariant:
    """`change` makes the variant of a state, `mapped` turns an operation's answer about the state into the one that is
    due about the variant. `ignored` is taken out of the variant's answer first."""

    name: str
    requirement: str
    about: str
    operations: tuple[str, ...]
    change: Callable[[State], State]
    mapped: Callable[[Any, State], Any]
    ignored: Callable[[Any], Any] = lambda answer: answer


@dataclass(frozen=True)
class FileVariant:
    """The same file, written otherwise: every answer stays the same, once ids that parsing makes are numbered."""

    name: str
    requirement: str
    about: str
    operations: tuple[str, ...]
    change: Callable[[bytes], bytes]


# ---- ids -------------------------------------------------------------------------------------------------------------


def _renaming(state: State) -> dict[str, str]:
    names = (entry.get(key) for entry in state.entries for key in ("id", "parentId", "firstKeptEntryId", "targetId"))
    return {name: f"r-{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:20]}" for name in names if isinstance(name, str)}


def _rename_ids(state: State) -> State:
    renaming = _renaming(state)
    entries = [_with_new_references(entry, renaming) for entry in state.entries]
    return State(entries, renaming.get(state.leaf_id, state.leaf_id) if state.leaf_id else state.leaf_id)


def _with_new_references(value: Any, renaming: dict[str, str]) -> Any:
    return {key: renaming.get(item, item) if key in _REFERENCES and isinstance(item, str) else item for key, item in value.items()}


def _renamed_answer(answer: Any, state: State) -> Any:
    """Ids stand in entries, in sources, in a tree, as the first kept entry, and as `fromId` of a branch summary."""
    renaming = _renaming(state)

    def name(value: Any) -> Any:
        return renaming.get(value, value) if isinstance(value, str) else value

    changed = _with_new_references(answer, renaming)
    for key in ("entries", "sources"):
        if key in changed:
            changed[key] = [_with_new_references(item, renaming) for item in changed[key]]
    if "roots" in changed:
        changed["roots"] = [name(item) for item in changed["roots"]]
        changed["children"] = {name(key): [name(item) for item in items] for key, items in changed["children"].items()}
        changed["labels"] = {name(key): text for key, text in changed["labels"].items()}
    return _with_messages(changed, lambda message: {**message, **({"fromId": name(message["fromId"])} if message.get("role") == "branchSummary" and "fromId" in message else {})}, name)


def _with_messages(answer: Any, change: Callable[[Any], Any], first_kept: Callable[[Any], Any] = lambda value: value) -> Any:
    """An answer with every message in it changed, those of a preparation and a snapshot as well."""
    changed = dict(answer)
    if isinstance(changed.get("preparation"), dict):
        preparation = {**changed["preparation"], "firstKeptEntryId": first_kept(changed["preparation"]["firstKeptEntryId"])}
        for key in ("messagesToSummarize", "turnPrefixMessages"):
            preparation[key] = [change(message) for message in preparation[key]]
        changed["preparation"] = preparation
    if isinstance(changed.get("messages"), list):
        changed["messages"] = [change(message) for message in changed["messages"]]
    return changed


# ---- times -----------------------------------------------------------------------------------------------------------


def _shift_times(state: State) -> State:
    return State([_later_entry(entry) for entry in state.entries], state.leaf_id)


def _later_entry(entry: Any) -> Any:
    changed = dict(entry)
    if isinstance(changed.get("timestamp"), str):
        changed["timestamp"] = _later_text(changed["timestamp"])
    for key in ("message", "systemMessage"):
        if isinstance(changed.get(key), dict):
            changed[key] = _later_message(changed[key])
    return changed


def _later_message(message: Any) -> Any:
    time = message.get("timestamp")
    return {**message, "timestamp": time + _SHIFT_MS} if isinstance(time, (int, float)) else message


def _later_text(text: str) -> str:
    moment = datetime.fromisoformat(text.replace("Z", "+00:00")) + SHIFT
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"


def _later_answer(answer: Any, state: State) -> Any:
    changed = _with_messages(answer, _later_message)
    if "entries" in changed:
        changed["entries"] = [_later_entry(entry) for entry in changed["entries"]]
    if isinstance(changed.get("message"), dict):
        changed["message"] = _later_message(changed["message"])
    return changed


# ---- the order of members, and members that nobody knows -------------------------------------------------------------


def _reorder_members(state: State) -> State:
    return State([_reordered_entry(entry) for entry in state.entries], state.leaf_id)


def _reordered_entry(entry: Any) -> Any:
    return _backwards({key: _reordered_message(item) if key == "message" and isinstance(item, dict) else item for key, item in entry.items()})


def _reordered_message(message: Json) -> Json:
    """Not inside arguments and sections: there the order carries meaning."""
    changed = dict(message)
    if isinstance(changed.get("content"), list):
        changed["content"] = [_backwards(block) for block in changed["content"]]
    if isinstance(changed.get("usage"), dict):
        changed["usage"] = _backwards(changed["usage"])
    return _backwards(changed)


def _backwards(value: Json) -> Json:
    return dict(reversed(value.items()))


def _add_unknown(state: State) -> State:
    return State([_with_unknown_entry(entry) for entry in state.entries], state.leaf_id)


def _with_unknown_entry(entry: Any) -> Any:
    changed = {key: _with_unknown_message(item) if key in ("message", "systemMessage") and isinstance(item, dict) else item for key, item in entry.items()}
    return {**changed, UNKNOWN: {"kept": [1, "two", None]}}


def _with_unknown_message(message: Json) -> Json:
    changed = dict(message)
    if isinstance(changed.get("content"), list):
        changed["content"] = [{**block, UNKNOWN: True} for block in changed["content"]]
    return {UNKNOWN: "also in front", **changed}


def without_unknown(value: Any) -> Any:
    """An answer without the members that were added; they may pass through or not."""
    if isinstance(value, dict):
        return {key: without_unknown(item) for key, item in value.items() if key != UNKNOWN}
    return [without_unknown(item) for item in value] if isinstance(value, list) else value


# ---- a branch beside the path ----------------------------------------------------------------------------------------


def _insert_branch(state: State) -> State:
    """Five entries hang on the middle of the path and stand right after it in the file. None is on the path."""
    path = path_of(state.entries, state.leaf_id)
    if not path:
        return state
    parent = path[len(path) // 2]
    at = next(index for index in range(len(state.entries) - 1, -1, -1) if state.entries[index] is parent) + 1
    return State([*state.entries[:at], *_branch(parent), *state.entries[at:]], state.leaf_id)


def _branch(parent: Any) -> Iterator[Json]:
    time, above = "2026-01-01T00:00:00.000Z", parent["id"]
    said = {"role": "user", "content": "A question on another branch. " * 40, "timestamp": 1767225600000}
    drafts: list[Json] = [
        {"type": "message", "message": said},
        {"type": "model_change", "provider": "elsewhere", "modelId": "other"},
        {"type": "context_edit", "targetId": parent["id"], "replacement": None},
        {"type": "compaction", "summary": "Another branch.", "firstKeptEntryId": parent["id"], "tokensBefore": 9},
        {"type": "thinking_level_change", "thinkingLevel": "minimal"},
    ]
    for number, draft in enumerate(drafts):
        name = f"beside-{number}"
        yield {**draft, "id": name, "parentId": above, "timestamp": time}
        above = name


# ---- the file --------------------------------------------------------------------------------------------------------


def _windows_line_ends(content: bytes) -> bytes:
    return content.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")


def _no_last_line_feed(content: bytes) -> bytes:
    return content[:-1] if content.endswith(b"\n") else content


def _blank_lines(content: bytes) -> bytes:
    return content.replace(b"\n", b"\n \t\n\n")


# ---- the list --------------------------------------------------------------------------------------------------------

_SIZES = ("tokens/of_projection", "tokens/context_usage")
_OF_STATE = ("session/path", "projection/messages", "projection/sources", "projection/settings", *_SIZES, "compaction/prepare")
_OF_ENTRIES = (*_OF_STATE, "session/tree", "cut/find")
_ALL = (*_OF_ENTRIES, "system/current", "messages/to_llm")


def _same(answer: Any, state: State) -> Any:
    return answer


STATE_VARIANTS: tuple[StateVariant, ...] = (
    StateVariant("ids-renamed", "TRE-10", "every id is another one of another length", _OF_ENTRIES, _rename_ids, _renamed_answer),
    StateVariant("times-shifted", "PRJ-15", "every time is eleven days, five hours and 7 ms later", _ALL, _shift_times, _later_answer),
    StateVariant("members-reordered", "SES-38", "the members of entries, messages, blocks and usages stand in reverse order", _ALL, _reorder_members, _same),
    StateVariant("unknown-members", "SES-38", "entries, messages and blocks have a member that nobody knows", _ALL, _add_unknown, _same, without_unknown),
    StateVariant("branch-beside", "PRJ-04", "a branch with an edit and a compaction hangs beside the path", _OF_STATE, _insert_branch, _same),
)
FILE_VARIANTS: tuple[FileVariant, ...] = (
    FileVariant("crlf", "SES-03", "every line ends in a carriage return and a line feed", ("session/parse",), _windows_line_ends),
    FileVariant("no-last-line-feed", "SES-24", "the last line does not end in a line feed", ("session/parse",), _no_last_line_feed),
    FileVariant("blank-lines", "SES-04", "two blank lines stand after every line", ("session/parse",), _blank_lines),
)


def states_of(session: GoldenSession) -> list[State]:
    """Where a session is varied: as a whole from up to four leaves, and at a third and two thirds of its entries."""
    entries = session.entries
    leaves = list(leaves_of(entries))[:4]
    thirds = sorted({len(entries) // 3, 2 * len(entries) // 3} - {0, len(entries)})
    return [State(entries, leaf) for leaf in leaves] + [State(entries[:length], entries[length - 1]["id"]) for length in thirds]


def material_of(state: State) -> tuple[Material, Point]:
    """A state in the form in which questions are asked."""
    return Material(state.entries), Point(len(state.entries), state.leaf_id)
