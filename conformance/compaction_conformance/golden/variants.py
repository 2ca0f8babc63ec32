"""Variants of a golden session, each with a rule for how the answers change: no expectation is needed to judge them.

An implementation is asked about a session and about a variant of it. Its second answer has to be its first one, changed
as the variant says; so a dependence on ids, clocks, key order or neighbouring branches shows without any oracle.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from compaction_conformance.golden import variant_changes as changes
from compaction_conformance.golden.questions import Material, Point
from compaction_conformance.golden.sessions import GoldenSession, leaves_of
from compaction_conformance.golden.variant_changes import State


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


_SIZES = ("tokens/of_projection", "tokens/context_usage")
_OF_STATE = (
    "session/path",
    "projection/messages",
    "projection/sources",
    "projection/settings",
    *_SIZES,
    "compaction/prepare",
)
_OF_ENTRIES = (*_OF_STATE, "session/tree", "cut/find")
_ALL = (*_OF_ENTRIES, "system/current", "messages/to_llm")


def _same(answer: Any, state: State) -> Any:
    return answer


STATE_VARIANTS: tuple[StateVariant, ...] = (
    StateVariant(
        "ids-renamed",
        "TRE-10",
        "every id is another one of another length",
        _OF_ENTRIES,
        changes.rename_ids,
        changes.renamed_answer,
    ),
    StateVariant(
        "times-shifted",
        "PRJ-15",
        "every time is eleven days, five hours and 7 ms later",
        _ALL,
        changes.shift_times,
        changes.later_answer,
    ),
    StateVariant(
        "members-reordered",
        "SES-38",
        "the members of entries, messages, blocks and usages stand in reverse order",
        _ALL,
        changes.reorder_members,
        _same,
    ),
    StateVariant(
        "unknown-members",
        "SES-38",
        "entries, messages and blocks have a member that nobody knows",
        _ALL,
        changes.add_unknown,
        _same,
        changes.without_unknown,
    ),
    StateVariant(
        "branch-beside",
        "PRJ-04",
        "a branch with an edit and a compaction hangs beside the path",
        _OF_STATE,
        changes.insert_branch,
        _same,
    ),
)
FILE_VARIANTS: tuple[FileVariant, ...] = (
    FileVariant(
        "crlf",
        "SES-03",
        "every line ends in a carriage return and a line feed",
        ("session/parse",),
        changes.windows_line_ends,
    ),
    FileVariant(
        "no-last-line-feed",
        "SES-24",
        "the last line does not end in a line feed",
        ("session/parse",),
        changes.no_last_line_feed,
    ),
    FileVariant(
        "blank-lines", "SES-04", "two blank lines stand after every line", ("session/parse",), changes.blank_lines
    ),
)


def states_of(session: GoldenSession) -> list[State]:
    """Where a session is varied: as a whole from up to four leaves, and at a third and two thirds of its entries."""
    entries = session.entries
    leaves = list(leaves_of(entries))[:4]
    thirds = sorted({len(entries) // 3, 2 * len(entries) // 3} - {0, len(entries)})
    return [State(entries, leaf) for leaf in leaves] + [
        State(entries[:length], entries[length - 1]["id"]) for length in thirds
    ]


def material_of(state: State) -> tuple[Material, Point]:
    """A state in the form in which questions are asked."""
    return Material(state.entries), Point(len(state.entries), state.leaf_id)
