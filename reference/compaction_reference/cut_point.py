"""Where a compaction cuts (chapter CUT): what is newer stays as it is, what is older is summarised.

A turn begins at a user-like message. A cut may fall inside a turn, before an assistant message, but never at a tool
result. What stands between a call and its result can still be the cut (CUT-29, ERR-49).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .ecma import map_key, members
from .errors import malformed
from .projection import ProjectedEntry, messages_of
from .tokens import of_message
from .types import Entry

_TURN_STARTS = frozenset({"user", "bashExecution", "custom", "branchSummary", "compactionSummary"})
_CUT_POINTS = _TURN_STARTS | {"assistant"}


@dataclass(frozen=True, slots=True)
class CutPoint:
    """Indices into the list that was searched; `turn_start` is -1 where no turn is split."""

    first_kept: int
    turn_start: int = -1

    @property
    def splits_turn(self) -> bool:
        return self.turn_start != -1


# ---- over stored entries ---------------------------------------------------------------------------------------------


def find(entries: Sequence[Entry], start: int, end: int, keep_recent_tokens: float) -> CutPoint:
    """The cut among stored entries, from `start` to before `end`, edits and folds left aside.
    (CUT-05, CUT-17, CUT-27)"""
    shown = [_as_stored(_entry_at(entries, index)) for index in range(start, end)]
    cut = find_projected(shown, keep_recent_tokens, follow_recovery=False)
    return CutPoint(start + cut.first_kept, start + cut.turn_start if cut.splits_turn else -1)


def turn_start(entries: Sequence[Entry], index: int, start: int) -> int:
    """Index of the newest turn start from `index` back to `start`, both included; -1 if there is none.
    (CUT-23, CUT-24)"""
    for candidate in range(index, start - 1, -1):
        if _starts_turn(_as_stored(_entry_at(entries, candidate))):
            return candidate
    return -1


def _as_stored(entry: Entry) -> ProjectedEntry:
    return ProjectedEntry(entry, messages_of(entry))


def _entry_at(entries: Sequence[Entry], index: int) -> Entry:
    if not 0 <= index < len(entries):
        raise malformed(f"no entry at index {index}")
    return entries[index]


# ---- over projected entries ------------------------------------------------------------------------------------------


def find_projected(
    entries: Sequence[ProjectedEntry], keep_recent_tokens: float, *, follow_recovery: bool = True
) -> CutPoint:
    """The cut that keeps about so many tokens: from the newest entry back until they are reached, then the nearest
    entry from there on that may be cut at, else the last such entry. Without one everything is kept.

    Entries just before the cut that show nothing are kept with it.
    (CUT-06 to CUT-10, CUT-12, CUT-18 to CUT-22, CUT-25)"""
    candidates = [index for index, entry in enumerate(entries) if _may_cut_at(entry)]
    if not candidates:
        return CutPoint(0)
    reached = _budget_reached_at(entries, keep_recent_tokens)
    cut = candidates[0]
    if reached is not None:
        cut = next((index for index in candidates if index >= reached), candidates[-1])
        if follow_recovery and _is_omitted_attempt(entries[cut + 1 :]):
            cut += 1
    while cut > 0 and not entries[cut - 1].is_compaction and not entries[cut - 1].messages:
        cut -= 1
    if _starts_turn(entries[cut]):
        return CutPoint(cut)
    starts = (index for index in range(cut, -1, -1) if _starts_turn(entries[index]))
    return CutPoint(cut, next(starts, -1))


def _budget_reached_at(entries: Sequence[ProjectedEntry], keep_recent_tokens: float) -> int | None:
    """Index of the entry with which the newest ones hold that many tokens; entries of no tokens are passed over.
    (CUT-11, CUT-13 to CUT-16, CUT-26, CUT-28)"""
    total: float = 0
    for index in range(len(entries) - 1, -1, -1):
        tokens = sum(map(of_message, entries[index].messages))
        total += tokens
        if tokens != 0 and total >= keep_recent_tokens:
            return index
    return None


def _may_cut_at(entry: ProjectedEntry) -> bool:
    return not entry.is_compaction and any(_role(message) in _CUT_POINTS for message in entry.messages)


def _starts_turn(entry: ProjectedEntry) -> bool:
    return not entry.is_compaction and any(_role(message) in _TURN_STARTS for message in entry.messages)


def _role(message: Any) -> Any:
    role = members(message).get("role")
    return role if isinstance(role, str) else None


# ---- failed attempts that were omitted -------------------------------------------------------------------------------


def _is_omitted_attempt(suffix: Sequence[ProjectedEntry]) -> bool:
    """Whether all that follows the cut is an assistant's attempt taken out by edits, and nothing the model still sees.

    Then the entry at the cut was asked already and can be summarised; the cut moves past it. (PRE-25 to PRE-29)"""
    omitted_ids = {map_key(members(entry.source).get("id")) for entry in suffix if _is_omitted(entry)}
    if any(_replaces_other(members(entry.source), omitted_ids) for entry in suffix):
        return False
    if not any(_is_omitted_assistant(entry) for entry in suffix):
        return False
    return all(not entry.is_compaction and (_is_omitted(entry) or not messages_of(entry.source)) for entry in suffix)


def _is_omitted(entry: ProjectedEntry) -> bool:
    """It would show something, were it not for an edit."""
    return not entry.messages and bool(messages_of(entry.source))


def _is_omitted_assistant(entry: ProjectedEntry) -> bool:
    own = members(entry.source)
    return own.get("type") == "message" and members(own["message"]).get("role") == "assistant" and _is_omitted(entry)


def _replaces_other(own: Any, omitted_ids: set[Any]) -> bool:
    if own.get("type") != "context_edit" or ("replacement" in own and own["replacement"] is None):
        return False
    return map_key(own.get("targetId")) not in omitted_ids
