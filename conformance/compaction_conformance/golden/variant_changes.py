"""How a golden session is varied, and how an answer changes with it. A change of a state leaves the state as it was."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from compaction_conformance.golden.sessions import path_of

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


# ---- ids -------------------------------------------------------------------------------------------------------------


def _renaming(state: State) -> dict[str, str]:
    names = (entry.get(key) for entry in state.entries for key in ("id", "parentId", "firstKeptEntryId", "targetId"))
    return {
        name: f"r-{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:20]}"
        for name in names
        if isinstance(name, str)
    }


def rename_ids(state: State) -> State:
    renaming = _renaming(state)
    entries = [_with_new_references(entry, renaming) for entry in state.entries]
    return State(entries, renaming.get(state.leaf_id, state.leaf_id) if state.leaf_id else state.leaf_id)


def _with_new_references(value: Any, renaming: dict[str, str]) -> Any:
    return {
        key: renaming.get(item, item) if key in _REFERENCES and isinstance(item, str) else item
        for key, item in value.items()
    }


def renamed_answer(answer: Any, state: State) -> Any:
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
    return _with_messages(
        changed,
        lambda message: {
            **message,
            **(
                {"fromId": name(message["fromId"])}
                if message.get("role") == "branchSummary" and "fromId" in message
                else {}
            ),
        },
        name,
    )


def _with_messages(
    answer: Any, change: Callable[[Any], Any], first_kept: Callable[[Any], Any] = lambda value: value
) -> Any:
    """An answer with every message in it changed, those of a preparation and a snapshot as well."""
    changed = dict(answer)
    if isinstance(changed.get("preparation"), dict):
        preparation = {
            **changed["preparation"],
            "firstKeptEntryId": first_kept(changed["preparation"]["firstKeptEntryId"]),
        }
        for key in ("messagesToSummarize", "turnPrefixMessages"):
            preparation[key] = [change(message) for message in preparation[key]]
        changed["preparation"] = preparation
    if isinstance(changed.get("messages"), list):
        changed["messages"] = [change(message) for message in changed["messages"]]
    return changed


# ---- times -----------------------------------------------------------------------------------------------------------


def shift_times(state: State) -> State:
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


def later_answer(answer: Any, state: State) -> Any:
    changed = _with_messages(answer, _later_message)
    if "entries" in changed:
        changed["entries"] = [_later_entry(entry) for entry in changed["entries"]]
    if isinstance(changed.get("message"), dict):
        changed["message"] = _later_message(changed["message"])
    return changed


# ---- the order of members, and members that nobody knows -------------------------------------------------------------


def reorder_members(state: State) -> State:
    return State([_reordered_entry(entry) for entry in state.entries], state.leaf_id)


def _reordered_entry(entry: Any) -> Any:
    return _backwards(
        {
            key: _reordered_message(item) if key == "message" and isinstance(item, dict) else item
            for key, item in entry.items()
        }
    )


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


def add_unknown(state: State) -> State:
    return State([_with_unknown_entry(entry) for entry in state.entries], state.leaf_id)


def _with_unknown_entry(entry: Any) -> Any:
    changed = {
        key: _with_unknown_message(item) if key in ("message", "systemMessage") and isinstance(item, dict) else item
        for key, item in entry.items()
    }
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


def insert_branch(state: State) -> State:
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


def windows_line_ends(content: bytes) -> bytes:
    return content.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")


def no_last_line_feed(content: bytes) -> bytes:
    return content[:-1] if content.endswith(b"\n") else content


def blank_lines(content: bytes) -> bytes:
    return content.replace(b"\n", b"\n \t\n\n")
