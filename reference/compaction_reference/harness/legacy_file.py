"""Reading a file of the coding agent (chapter HSE): version 3 only, and nothing that the four types cannot hold.

Messages, custom entries, branch summaries and compactions are taken over under new ids; the rest is let go, and what
hung on it hangs on the nearest ancestor that was taken. The kept range of a compaction becomes a list of messages.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..dates import milliseconds
from ..ecma import map_key, members, or_null, parse_json, pick, string, truthy
from ..errors import Refusal, malformed
from ..summary import added_up
from ..types import Entry, Json, Message
from .session import Makers
from .storage import Storage, Write, key_of, tip_write

_DROPPED = ("model_change", "thinking_level_change", "active_tools_change", "session_info", "label")
_TAKEN = ("message", "custom", "custom_message", "branch_summary", "compaction")
_COUNTS = ("input", "output", "cacheRead", "cacheWrite")


def is_header(value: Json) -> bool:
    """Whether the first line is that of a file of version 3, no older one and no newer."""
    return (
        value.get("type") == "session"
        and value.get("version") == 3
        and not isinstance(value["version"], bool)
        and all(isinstance(value.get(name), str) for name in ("id", "cwd", "timestamp"))
        and math.isfinite(milliseconds(value["timestamp"]))
        and isinstance(value.get("parentSession", ""), str)
    )


@dataclass(slots=True)
class Import:
    """What became of the file: header, state, and the writes that a file of format 4 will hold."""

    header: Json
    storage: Storage
    writes: list[Write]
    usage: Json

    def usage_write(self, new_id: str) -> Write:
        """The tokens of all imported messages and summaries in one record."""
        details = {"source": "v3-import"}
        return {"kind": "usage", "id": new_id, "usage": self.usage, "adjustment": True, "details": details}


@dataclass(slots=True)
class _Index:
    """The entries of the old file by their ids, and for each the new id of its nearest taken ancestor or itself."""

    entries: dict[Any, Entry] = field(default_factory=dict)
    new_ids: dict[Any, str | None] = field(default_factory=dict)

    def new_id(self, old_id: Any) -> str | None:
        """Refuses (`entry_not_found`) an id that the file does not have; `null` stays `null`."""
        if old_id is None:
            return None
        if map_key(old_id) not in self.new_ids:
            raise Refusal("entry_not_found", f"no entry has the id {old_id!r}")
        return self.new_ids[map_key(old_id)]


def read(header: Json, lines: Sequence[str], makers: Makers) -> Import:
    """The session in the lines after the header. All lines are read before anything is taken over."""
    index, usage = _Index(), _no_usage()
    for line in lines:
        entry = _entry(line)
        _add(entry, index, makers)
        usage = _sum(usage, _usage_of(entry))
    values = _values(index)
    tails = {key: _retained_tail(entry, index) for key, entry in index.entries.items() if entry["type"] == "compaction"}
    taken = [(key, entry) for key, entry in index.entries.items() if entry["type"] in _TAKEN]
    writes = [_taken_over(entry, index, tails.get(key)) for key, entry in taken] + values
    writes = [{**write, "seq": seq} for seq, write in enumerate(writes, 1)]
    storage = Storage()
    for write in writes:
        storage.commit([write])
    return Import({**_header(header), "nextSeq": len(writes) + 1}, storage, writes, usage)


def _header(header: Json) -> Json:
    """A parent session is known by its path here; its file is not looked for."""
    parent = {"legacyParentSessionPath": header["parentSession"]} if "parentSession" in header else {}
    created = milliseconds(header["timestamp"])
    own = {"v": 4, "kind": "header", "id": header["id"], "createdAt": created, "storageVersion": 1}
    return {**own, "cwd": header["cwd"], **parent}


# ---- line by line ----------------------------------------------------------------------------------------------------


def _entry(line: str) -> Json:
    try:
        entry = parse_json(line)
    except (ValueError, RecursionError):
        raise malformed("a line that is no JSON") from None
    kind = entry.get("type") if isinstance(entry, dict) else None
    if kind not in _TAKEN and kind not in _DROPPED:
        raise Refusal("unsupported_entry", f"an entry of type {kind!r}")
    return entry  # type: ignore[no-any-return]


def _add(entry: Json, index: _Index, makers: Makers) -> None:
    """Every id is new and every parent stands earlier in the file, so there are no cycles."""
    own_key, parent_key = key_of(entry, "id"), key_of(entry, "parentId")
    if own_key in index.entries:
        raise malformed(f"the id {entry.get('id')!r} twice")
    if parent_key is not None and parent_key not in index.entries:
        raise Refusal("entry_not_found", f"no earlier entry has the id {entry.get('parentId')!r}")
    new_id = index.new_ids.get(parent_key)
    if entry["type"] in _TAKEN:
        time = _time(entry)
        if own_key is None or not 0 <= time < 2**48:
            raise malformed("an entry without an id or a time")
        new_id = makers.new_id(int(time))
    index.entries[own_key] = entry
    index.new_ids[own_key] = new_id


def _time(entry: Json) -> float:
    return milliseconds(string(entry["timestamp"])) if "timestamp" in entry else math.nan


def _values(index: _Index) -> list[Write]:
    """The values that the dropped entries leave behind: name, labels, the tip of the branch, the lane's model."""
    values = [*_name(index), *_labels(index)]
    last = next(reversed(index.new_ids.values()), None)
    return [*values, tip_write(last), *_configuration(index)]


def _name(index: _Index) -> Iterator[Write]:
    names = [entry.get("name") for entry in index.entries.values() if entry["type"] == "session_info"]
    if names and truthy(names[-1]):
        yield _value("pi.session.name", "", names[-1])


def _labels(index: _Index) -> list[Write]:
    labels: dict[str, Any] = {}
    for entry in index.entries.values():
        if entry["type"] != "label":
            continue
        target = index.new_id(entry["targetId"] if "targetId" in entry else object())
        if target is not None and truthy(entry.get("label")):
            labels[target] = entry["label"]
        elif target is not None:
            labels.pop(target, None)
    return [_value("pi.entry.label", target, label) for target, label in labels.items()]


def _configuration(index: _Index) -> list[Write]:
    """Model and thinking level that are in force at the last entry; nothing where one of them is unknown."""
    newest: dict[str, Json] = {}
    entry = next(reversed(index.entries.values()), None)
    while entry is not None:
        newest.setdefault(entry["type"], entry)
        entry = index.entries.get(key_of(entry, "parentId"))
    model, level = newest.get("model_change"), newest.get("thinking_level_change")
    if model is None or level is None or "thinkingLevel" not in level:
        return []
    tools = members(newest.get("active_tools_change", {})).get("activeToolNames", [])
    configuration = {"model": pick(model, "provider", "modelId"), **pick(level, "thinkingLevel")}
    state: Json = {"currentOperationId": None, "lastOperationId": None, "inbox": []}
    return [
        _value("pi.lane.config", "main", {**configuration, "activeToolNames": tools}),
        _value("pi.lane.state", "main", state),
    ]


def _value(namespace: str, key: str, value: Any) -> Write:
    return {"kind": "value", "op": "set", "namespace": namespace, "key": key, "value": value}


# ---- taking over -----------------------------------------------------------------------------------------------------


def _taken_over(entry: Json, index: _Index, tail: list[Message] | None) -> Write:
    """The entry in its new shape: known fields only, the time in milliseconds, `fromHook` always there."""
    kind = entry["type"]
    own_id = index.new_ids[key_of(entry, "id")]
    base = {
        "kind": "entry",
        "id": own_id,
        "parentId": index.new_id(entry.get("parentId")),
        "timestamp": _time(entry),
        "type": kind,
    }
    if kind == "message":
        return base | pick(entry, "message")
    if kind == "custom_message":
        return base | {"type": "message", "message": _custom_message(entry)}
    if kind == "custom":
        return base | pick(entry, "customType", "data")
    from_hook = entry.get("fromHook")
    summary = pick(entry, "summary", "details", "usage") | {"fromHook": False if from_hook is None else from_hook}
    if kind == "branch_summary":
        return base | summary | {"fromId": _from_id(entry, index)}
    return base | summary | pick(entry, "tokensBefore") | {"retainedTail": tail}


def _retained_tail(compaction: Json, index: _Index) -> list[Message]:
    """The messages from the first kept entry to the parent of the compaction, old compactions as their summaries.
    Refuses (`not_on_path`) when the first kept entry is not among the ancestors, the compaction's own id included."""
    messages: list[Message] = []
    first_kept = key_of(compaction, "firstKeptEntryId")
    key = key_of(compaction, "parentId")
    while key is not None:
        messages += reversed(_messages_of(index.entries[key], index))
        if key == first_kept:
            return messages[::-1]
        key = key_of(index.entries[key], "parentId")
    raise Refusal("not_on_path", f"{compaction.get('firstKeptEntryId')!r} is no ancestor of the compaction")


def _messages_of(entry: Json, index: _Index) -> list[Message]:
    kind = entry["type"]
    if kind == "message":
        return [entry["message"]] if "message" in entry else []
    if kind == "custom_message":
        return [_custom_message(entry)]
    if kind == "branch_summary" and truthy(entry.get("summary")):
        from_id = {"fromId": _from_id(entry, index)}
        return [{"role": "branchSummary"} | pick(entry, "summary") | from_id | {"timestamp": or_null(_time(entry))}]
    if kind == "compaction":
        own = pick(entry, "summary", "tokensBefore")
        return [{"role": "compactionSummary"} | own | {"timestamp": or_null(_time(entry))}]
    return []


def _custom_message(entry: Json) -> Message:
    own = pick(entry, "customType", "content", "details", "display")
    return {"role": "custom"} | own | {"timestamp": or_null(_time(entry))}


def _from_id(entry: Json, index: _Index) -> str | None:
    """The word `root` stood for the place before the first entry."""
    from_id = entry["fromId"] if "fromId" in entry else object()
    return None if from_id == "root" else index.new_id(from_id)


# ---- usage -----------------------------------------------------------------------------------------------------------


def _no_usage() -> Json:
    counts: Json = dict.fromkeys((*_COUNTS, "totalTokens"), 0)
    return {**counts, "cost": dict.fromkeys((*_COUNTS, "total"), 0)}


def _usage_of(entry: Json) -> Any | None:
    """What a message or a summary took; `None` where nothing is told."""
    if entry["type"] == "message":
        message = members(entry.get("message"))
        return _checked(message) if message.get("role") in ("assistant", "toolResult") else None
    return _checked(entry) if entry["type"] in ("compaction", "branch_summary") else None


def _checked(owner: Any) -> Any | None:
    if "usage" not in owner:
        return None
    members(members(owner["usage"]).get("cost"))  # both are added up, so both have to be there
    return owner["usage"]


def _sum(total: Json, usage: Any | None) -> Json:
    return total if usage is None else added_up(total, usage)
