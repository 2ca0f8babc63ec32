"""Appending to a session (chapter HSE): an entry and the move of the branch to it are one transaction.

This is the one place, with `legacy_file` and `session_file`, where ids and times are made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..ecma import members, pick
from ..errors import Refusal
from ..session_file import now_ms, time_ordered_id
from ..types import Entry, Json, Leaf
from .storage import Storage, Write, in_memory, numbered, tip_write


@dataclass(frozen=True, slots=True)
class Makers:
    """Where ids and times come from; `new_id` is given the time in milliseconds that the id is to carry."""

    new_id: Callable[[int], str] = time_ordered_id
    now: Callable[[], int] = now_ms


def transaction(draft: Any, tip: Any, new_id: str) -> list[Write]:
    """The writes of an append: the new entry, then the move of the branch. A summary of a branch that was left hangs
    elsewhere, so that the branch moves there first. Refuses (`unsupported_entry`) what a session does not store."""
    given = members(draft)
    kind = given.get("type")
    entry = {"kind": "entry", "id": new_id, "parentId": tip}
    if kind == "message":
        return [{**entry, "type": kind, "message": _settled(given.get("message"))}, tip_write(new_id)]
    if kind == "custom":
        return [{**entry, **pick(given, "type", "customType", "data")}, tip_write(new_id)]
    if kind == "compaction":
        return [{**entry, **given}, tip_write(new_id)]
    if kind == "branch_summary":
        target = given.get("branchFromId")
        own = {name: value for name, value in given.items() if name != "branchFromId"}
        return [tip_write(target), {**entry, "parentId": target, "fromId": tip, **own}, tip_write(new_id)]
    raise Refusal("unsupported_entry", f"no entry of type {kind!r} can be stored")


def committed(draft: Any, storage: Storage, tip: Any, makers: Makers) -> list[Write]:
    """Appends the draft at the tip; the writes as they were committed."""
    now = makers.now()
    new_id = makers.new_id(now)
    writes = numbered(transaction(draft, tip, new_id), storage.next_seq)
    writes = [{**write, "timestamp": now} if write["kind"] == "entry" else write for write in writes]
    storage.commit(writes)
    return writes


def append(entries: Sequence[Entry], leaf: Leaf, draft: Any, makers: Makers | None = None) -> Json:
    """`entry` as it was appended, and `leafId`, which names it."""
    storage, tip = in_memory(entries, leaf)
    storage.path(tip)  # an unknown leaf is refused
    writes = committed(draft, storage, tip, makers or Makers())
    entry = next(write for write in writes if write["kind"] == "entry")
    return {"entry": {name: value for name, value in entry.items() if name != "kind"}, "leafId": entry["id"]}


def _settled(message: Any) -> Any:
    """An answer that is still coming in cannot be stored."""
    own = members(message)
    if own.get("role") == "assistant" and own.get("stopReason") == "pending":
        raise Refusal("unsupported_entry", "a pending answer cannot be stored")
    return message
