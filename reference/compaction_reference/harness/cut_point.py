"""Where to cut (chapter HCO). The idea is that of chapter CUT, the details are not.

Only message entries weigh. When tool results alone fill the budget, no cut point follows, and everything is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..cut_point import CutPoint
from ..ecma import members
from ..errors import malformed
from ..types import Entry
from .tokens import of_message

_CUT_ROLES = ("user", "assistant", "bashExecution", "custom", "branchSummary", "compactionSummary")
_TURN_ROLES = ("user", "bashExecution")


def find(entries: Sequence[Entry], start: int, end: int, keep_recent_tokens: float) -> tuple[CutPoint, bool]:
    """The cut among the entries from `start` to before `end`, and whether it splits a turn.

    A cut at a user message splits none; any other one splits the turn that is found, even if it starts at the cut."""
    candidates = [index for index in range(start, end) if _may_cut_at(_entry_at(entries, index))]
    if not candidates:
        return CutPoint(start), False
    reached = _budget_reached_at(entries, start, end, keep_recent_tokens)
    cut = candidates[0]
    if reached is not None:
        cut = next((index for index in candidates if index >= reached), candidates[0])
    while cut > start and members(entries[cut - 1]).get("type") not in ("compaction", "message"):
        cut -= 1
    if _role(entries[cut]) == "user":
        return CutPoint(cut), False
    turn = turn_start(entries, cut, start)
    return CutPoint(cut, turn), turn != -1


def turn_start(entries: Sequence[Entry], index: int, start: int) -> int:
    """Index of the newest turn start from `index` back to `start`, both included; -1 if there is none."""
    for candidate in range(index, start - 1, -1):
        entry = _entry_at(entries, candidate)
        if entry.get("type") == "branch_summary" or _role(entry) in _TURN_ROLES:
            return candidate
    return -1


def _budget_reached_at(entries: Sequence[Entry], start: int, end: int, keep_recent_tokens: float) -> int | None:
    """Index of the message entry with which the newest ones hold that many tokens."""
    total: float = 0
    for index in range(end - 1, start - 1, -1):
        own = members(entries[index])
        if own.get("type") == "message":
            total += of_message(own.get("message"))
            if total >= keep_recent_tokens:
                return index
    return None


def _may_cut_at(entry: Any) -> bool:
    return entry.get("type") == "branch_summary" or _role(entry) in _CUT_ROLES


def _role(entry: Entry) -> Any:
    """The role of a message entry, `None` for other entries."""
    own = members(entry)
    return members(own.get("message")).get("role") if own.get("type") == "message" else None


def _entry_at(entries: Sequence[Entry], index: int) -> Any:
    if not 0 <= index < len(entries):
        raise malformed(f"no entry at index {index}")
    return members(entries[index])
